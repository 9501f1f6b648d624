#include "nla/io/shell_settings.h"

#include <charconv>

#include "common/core/text.h"
#include "nla/core/wire/topologies.h"

namespace scela::nla {

namespace {

template <class Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool apply(std::string_view key, std::string_view value, Settings& settings) {
  if (key == "record") {
    settings.record = value;
  } else if (key == "directory") {
    settings.directory = value;
  } else if (key == "boot") {
    settings.boot_id = value;
  } else if (key == "address") {
    settings.address = value;
  } else if (key == "network") {
    settings.network = value;
  } else if (key == "shares") {
    return parse_number(value, settings.shares) && settings.shares > 0;
  } else if (key == "launch") {
    settings.launch = value;
  } else if (key == "agent") {
    settings.agent = value;
  } else if (key == "package") {
    settings.package = value;
  } else if (key == "leaf_agents") {
    settings.leaf_agents = value == "1";
  } else if (key == "agent_cache") {
    settings.agent_cache = value != "0";
  } else if (key == "fanout") {
    return parse_number(value, settings.fanout) && settings.fanout > 0;
  } else if (key == "connect_ms") {
    return parse_number(value, settings.connect_ms) && settings.connect_ms > 0;
  } else if (key == "link") {
    settings.link = value;
    return value == kLinkAuto || value == kLinkSsh || value == kLinkTcp;
  } else if (key == "heartbeat_ms") {
    return parse_number(value, settings.heartbeat_ms);
  } else if (key == "forward_agent") {
    settings.forward_agent = value == "1";
  } else if (key == "node_env") {
    settings.node_env = value == "1";
  } else if (key == "pmi_guessed") {
    settings.pmi_guessed = value == "1";
  } else if (key == "topology") {
    settings.topology = value == "1";
  } else if (key == "rendezvous") {
    return parse_number(value, settings.rendezvous.emplace());
  } else if (key == "measure") {
    settings.measure = value == "1";
  } else if (key == "usage") {
    settings.usage = value == "1";
  } else if (key == "trace") {
    settings.trace = value == "1";
  }
  return true;
}

}  // namespace

std::string format(const Settings& settings) {
  std::string out;
  if (!settings.record.empty()) out += cat("record=", settings.record, "\n");
  if (!settings.directory.empty()) out += cat("directory=", settings.directory, "\n");
  if (!settings.boot_id.empty()) out += cat("boot=", settings.boot_id, "\n");
  if (!settings.address.empty()) out += cat("address=", settings.address, "\n");
  if (!settings.network.empty()) out += cat("network=", settings.network, "\n");
  if (settings.shares != 1) out += cat("shares=", settings.shares, "\n");
  if (settings.launch != kLaunchSsh) out += cat("launch=", settings.launch, "\n");
  if (!settings.agent.empty()) out += cat("agent=", settings.agent, "\n");
  if (!settings.package.empty()) out += cat("package=", settings.package, "\n");
  if (settings.leaf_agents) out += "leaf_agents=1\n";
  if (!settings.agent_cache) out += "agent_cache=0\n";
  if (settings.fanout != Settings().fanout) out += cat("fanout=", settings.fanout, "\n");
  if (settings.connect_ms != Settings().connect_ms) {
    out += cat("connect_ms=", settings.connect_ms, "\n");
  }
  if (settings.link != kLinkAuto) out += cat("link=", settings.link, "\n");
  if (settings.heartbeat_ms != Settings().heartbeat_ms) {
    out += cat("heartbeat_ms=", settings.heartbeat_ms, "\n");
  }
  if (settings.forward_agent) out += "forward_agent=1\n";
  if (settings.node_env) out += "node_env=1\n";
  if (settings.pmi_guessed) out += "pmi_guessed=1\n";
  if (settings.topology) out += kAskTopologies;  // the core reads it too
  if (settings.rendezvous) out += cat(kAskRendezvous, *settings.rendezvous, "\n");
  if (settings.measure) out += "measure=1\n";
  if (settings.usage) out += "usage=1\n";
  if (settings.trace) out += "trace=1\n";
  return out;
}

Result<Settings> parse_settings(std::string_view text) {
  Settings settings;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos ||
        !apply(line.substr(0, equals), line.substr(equals + 1), settings)) {
      return fail(Error{ErrorKind::protocol,
                        "read the settings of the job",
                        {},
                        cat("malformed line '", line, "'"),
                        {}});
    }
  }
  return settings;
}

}  // namespace scela::nla
