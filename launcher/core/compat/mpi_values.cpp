// Values of the options of Hydra and Open MPI.
#include <algorithm>
#include <string>

#include "common/core/percent_pattern.h"
#include "common/core/text.h"
#include "launcher/core/compat/peer_values.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

// Adds the word "--OPTION=VALUE".
Result<void> give(PeerCall& call, std::string_view option, std::string_view value) {
  return call.add(cat("--", option, "=", value));
}

// Returns a word of Hydra's -bind-to or -map-by without ":1", which changes nothing.
std::string_view without_one(std::string_view value) {
  return value.ends_with(":1") ? value.substr(0, value.size() - 2) : value;
}

bool is_one_of(std::string_view value, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, value) != words.end();
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Adds one modifier of --map-by, such as "pe=2".
Result<void> add_modifier(PeerCall& call, const std::string& modifier) {
  if (modifier.starts_with("pe=")) return give(call, "cpus-per-rank", modifier.substr(3));
  if (modifier == "oversubscribe") return call.add_default("oversubscribe");
  if (modifier == "hwtcpus") return call.add_default("bind-to", "hwthread");
  if (is_one_of(modifier, {"nooversubscribe", "span", "corecpus", "inherit", "noinherit"}))
    return {};
  return fail(value_error(cat("the modifier '", modifier, "' is not known"),
                          "known are PE=N, OVERSUBSCRIBE, NOOVERSUBSCRIBE and SPAN"));
}

}  // namespace

Error unknown_value(std::string_view value, std::string_view known) {
  return value_error(cat("'", value, "' is not known"), cat("give ", known));
}

std::vector<std::string> list_elements(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  std::erase_if(out, [](const std::string& element) { return element.empty(); });
  return out;
}

Result<std::vector<HostEntry>> mpi_hosts(std::string_view text) {
  std::vector<HostEntry> out;
  for (const std::string& element : list_elements(text)) {
    const auto colon = element.find(':');
    const bool has_slots = colon != std::string::npos && colon > 0 &&
                           element.find_first_of("[]=:", colon + 1) == std::string::npos;
    const std::string name = has_slots ? element.substr(0, colon) : element;
    auto parsed = parse_hosts(name);
    if (!parsed) return fail(std::move(parsed.error()));
    for (HostEntry& host : *parsed) {
      if (has_slots) {
        auto slots = parse_number(element.substr(colon + 1), 1, kMaxSlots);
        if (!slots) return fail(std::move(slots.error()));
        host.slots = *slots;
      }
      out.push_back(std::move(host));
    }
  }
  if (out.empty()) return fail(value_error("no host is named", "write hosts as a:2,b"));
  return out;
}

Result<void> hydra_hosts(PeerCall& call, std::string_view value) {
  auto hosts = mpi_hosts(value);
  if (!hosts) return fail(std::move(hosts.error()));
  for (HostEntry& host : *hosts)
    call.programs.front().hosts.push_back(std::move(host));
  return {};
}

Result<void> hydra_hostfile(PeerCall& call, std::string_view value) {
  auto text = call.read(std::string(value));
  if (!text) return fail(std::move(text.error()));
  auto hosts = parse_hostfile(*text, value);
  if (!hosts) return fail(std::move(hosts.error()));
  for (HostEntry& host : *hosts)
    call.programs.front().hosts.push_back(std::move(host));
  return {};
}

Result<void> hydra_label(PeerCall& call, std::string_view) {
  return give(call, "label", "[%r] ");
}

// Hydra leaves a '%' before any other letter as it is.
Result<void> hydra_pattern(PeerCall& call, std::string_view value) {
  std::string unknown;
  std::string pattern;
  read_percent_pattern(
      value, [&](std::string_view text) { pattern += text; },
      [&](char letter) {
        if (letter == 'g' || letter == 't') unknown = std::string{'%', letter};
        if (letter == 'r' || letter == 'h' || letter == 'p') {
          pattern += letter == 'p' ? std::string("%n") : std::string{'%', letter};
        } else if (letter != '\0' && letter != '%') {
          pattern += std::string("%%") + letter;
        } else {
          pattern += "%%";
        }
      });
  if (unknown.empty()) return give(call, "label", pattern);
  return fail(value_error(cat("the part '", unknown, "' is not known"),
                          "known are %r, %h and %p; set SCELA_TIMESTAMP=1 for times"));
}

Result<void> hydra_ppn(PeerCall& call, std::string_view value) {
  auto number = parse_number(value, 1, kMaxSlots);
  if (!number) return fail(std::move(number.error()));
  call.programs.front().per_node = *number;
  return {};
}

Result<void> hydra_launcher(PeerCall& call, std::string_view value) {
  if (value == "ssh") return give(call, "launch", "ssh");
  if (value == "rsh") return give(call, "launch", "rsh:rsh");
  if (value == "fork") return give(call, "launch", "local");
  if (is_one_of(value, {"sge", "lsf"})) return give(call, "launch", value);
  return fail(unknown_value(value, "ssh, rsh, fork, sge or lsf"));
}

Result<void> hydra_rmk(PeerCall&, std::string_view value) {
  if (value == "user") return {};
  return fail(value_error(cat("no hosts are asked of '", value, "'"),
                          "name the hosts by -hosts or -f, and leave -rmk out"));
}

Result<void> hydra_binding(PeerCall& call, std::string_view value) {
  const std::string_view what = without_one(value);
  if (is_one_of(what, {"none", "hwthread", "core", "l3cache", "numa", "socket"}))
    return give(call, "bind-to", what);
  return fail(unknown_value(value, "none, hwthread, core, l3cache, numa or socket"));
}

Result<void> hydra_membind(PeerCall& call, std::string_view value) {
  if (value == "none") return give(call, "mem-bind", "none");
  // The kernel places memory by the first touch unless it is told otherwise.
  if (value == "firsttouch") return give(call, "mem-bind", "none");
  if (value == "bind:numa") return give(call, "mem-bind", "local");
  if (value == "interleave:numa") return give(call, "mem-bind", "interleave");
  return fail(unknown_value(value, "none, firsttouch, bind:numa or interleave:numa"));
}

Result<void> hydra_mapping(PeerCall& call, std::string_view value) {
  const std::string_view what = without_one(value);
  if (what == "hwthread") return give(call, "map-by", "core");
  if (is_one_of(what, {"core", "l3cache", "numa", "socket"})) return give(call, "map-by", what);
  return fail(unknown_value(value, "hwthread, core, l3cache, numa or socket"));
}

Result<void> openmpi_hosts(PeerCall& call, std::string_view value) {
  auto hosts = mpi_hosts(value);
  if (!hosts) return fail(std::move(hosts.error()));
  for (HostEntry& host : *hosts)
    call.program().hosts.push_back(std::move(host));
  return {};
}

Result<void> openmpi_per_node(PeerCall& call, std::string_view value) {
  auto number = parse_number(value, 1, kMaxSlots);
  if (!number) return fail(std::move(number.error()));
  call.program().per_node = *number;
  return give(call, "ppn", value);
}

Result<void> openmpi_one_per_node(PeerCall& call, std::string_view) {
  return openmpi_per_node(call, "1");
}

Result<void> openmpi_ppr(PeerCall& call, std::string_view value) {
  const std::string text = lower(value);
  const auto colon = text.find(':');
  const std::string object = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (object.empty()) return fail(value_error("it lacks an object", "give N:node"));
  if (object != "node") {
    return fail(
        value_error(cat("ranks are counted for each node only, and not for each '", object, "'"),
                    "give N:node, or -N and --map-by socket"));
  }
  return openmpi_per_node(call, text.substr(0, colon));
}

Result<void> openmpi_mapping(PeerCall& call, std::string_view value) {
  std::vector<std::string> parts;
  for (std::string_view rest = value; !rest.empty();) {
    const auto colon = rest.find(':');
    parts.push_back(lower(rest.substr(0, colon)));
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  std::size_t used = 1;
  if (parts.empty()) return fail(value_error("it names nothing", "give slot, node or core"));
  const std::string& object = parts.front();
  if (object == "ppr") {
    if (parts.size() < 3) return fail(value_error("ppr lacks its parts", "give ppr:N:node"));
    if (auto done = openmpi_ppr(call, cat(parts[1], ":", parts[2])); !done) return done;
    used = 3;
  } else if (object == "hwthread") {
    if (auto done = give(call, "map-by", "core"); !done) return done;
    if (auto done = call.add_default("bind-to", "hwthread"); !done) return done;
  } else if (!object.empty()) {
    if (auto done = give(call, "map-by", object); !done) return done;
  }
  for (; used < parts.size(); ++used)
    if (auto done = add_modifier(call, parts[used]); !done) return done;
  return {};
}

Result<void> openmpi_ranking(PeerCall& call, std::string_view value) {
  const std::string what = lower(value);
  return give(call, "rank-by", what.substr(0, what.find(':')));
}

Result<void> openmpi_binding(PeerCall& call, std::string_view value) {
  const std::string what = lower(value);
  const auto colon = what.find(':');
  const std::string qualifier = colon == std::string::npos ? "" : what.substr(colon + 1);
  if (qualifier == "overload-allowed") {
    if (auto done = call.add_default("oversubscribe"); !done) return done;
  } else if (!qualifier.empty() && qualifier != "if-supported" && qualifier != "ordered") {
    return fail(unknown_value(qualifier, "overload-allowed or if-supported"));
  }
  return give(call, "bind-to", what.substr(0, colon));
}

Result<void> openmpi_export(PeerCall& call, std::string_view value) {
  if (value.find('=') != std::string_view::npos) return give(call, "env", value);
  if (value.ends_with('*')) {
    const std::string_view start = value.substr(0, value.size() - 1);
    for (const auto& [name, text] : call.variables) {
      if (!name.starts_with(start)) continue;
      if (auto done = give(call, "env", cat(name, "=", text)); !done) return done;
    }
    return {};
  }
  if (const std::string* text = call.variable(value))
    return give(call, "env", cat(value, "=", *text));
  call.notes.push_back(
      cat("warning: the variable ", value, " of -x is not set here, so ranks do not get it"));
  return {};
}

Result<void> openmpi_display(PeerCall& call, std::string_view value) {
  for (const std::string& what : list_elements(lower(value))) {
    const std::string word = what.substr(0, what.find(':'));
    const bool is_binding = word == "bind" || word == "bindings";
    if (!is_binding && !is_one_of(word, {"map", "map-devel", "allocation", "topo", "cpus"}))
      return fail(unknown_value(what, "map, bind, allocation or topo"));
    if (auto done = call.add_default(is_binding ? "report-bindings" : "show-map"); !done)
      return done;
  }
  return {};
}

Result<void> openmpi_tag(PeerCall& call, std::string_view) {
  return call.add_default("label", "[1,%r]<std%s>:");
}

Result<void> openmpi_output(PeerCall& call, std::string_view value) {
  for (const std::string& what : list_elements(value)) {
    const std::string word = lower(what);
    Result<void> done;
    if (word == "tag" || word == "tag-detailed" || word == "tag-fullname") {
      done = openmpi_tag(call, "");
    } else if (word == "rank") {
      done = call.add_default("label");
    } else if (word == "timestamp") {
      done = call.add_default("timestamp");
    } else if (word.starts_with("dir=")) {
      const std::string folder = what.substr(4);
      done = give(call, "output-dir", folder.substr(0, folder.find(':')));
    } else {
      done = fail(unknown_value(what, "tag, timestamp or dir=DIR"));
    }
    if (!done) return done;
  }
  return {};
}

// The value is "NAME=VALUE".
Result<void> openmpi_prtemca(PeerCall& call, std::string_view value) {
  for (const std::string_view name : {"prte_if_include=", "oob_tcp_if_include="})
    if (value.starts_with(name)) return give(call, "network", value.substr(name.size()));
  return {};
}

Result<void> openmpi_mca(PeerCall& call, std::string_view value) {
  if (auto done = openmpi_prtemca(call, value); !done) return done;
  return give(call, "env", cat("OMPI_MCA_", value));
}

Result<void> openmpi_pmixmca(PeerCall& call, std::string_view value) {
  return give(call, "env", cat("PMIX_MCA_", value));
}

}  // namespace scela
