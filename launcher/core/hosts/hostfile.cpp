#include "launcher/core/hosts/hostfile.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/core/nodeset/nodeset.h"
#include "common/core/text.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

constexpr std::string_view kBetweenWords = " \t\r";
constexpr std::string_view kHostfileSyntax = "write host, host:slots or node[1-4]:slots";
constexpr std::uint32_t kMaxPort = 65535;
// A number from here on, up to kMaxPort, after a host's ':' is a port. Servers of users listen
// there, and no host has so many slots.
constexpr std::uint32_t kMinPort = 1024;

constexpr std::string_view kPortKey = "port=";

bool is_port(std::uint32_t number) {
  return number >= kMinPort && number <= kMaxPort;
}

// Returns what follows a host with this port in its name. The name is a SPEC of this one host, so a
// port that would be read as a number of slots has its key.
std::string port_text(std::uint32_t port) {
  return cat(':', is_port(port) ? std::string_view() : kPortKey, port);
}

// Returns true for a name of the name service: letters, digits, '.', '-' and '_'. It can never be
// read as an option of another program.
bool is_host_name(std::string_view name) {
  constexpr std::size_t kLongestHostName = 255;  // RFC 1035 section 2.3.4
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kLongestHostName && name.front() != '-' &&
         name.front() != '.' && std::all_of(name.begin(), name.end(), is_part);
}

// Returns true for "host" and "user@host". A user's name has the characters of a host's.
bool is_login(std::string_view name) {
  const auto at = name.find('@');
  if (at == std::string_view::npos) return is_host_name(name);
  return is_host_name(name.substr(0, at)) && is_host_name(name.substr(at + 1));
}

// Accepts fe80::1%eth0, ::1 and 2001:db8::10.0.0.1. A literal differs from "host:slots" by "::" or
// by eight groups. The resolver refuses other errors.
bool is_ipv6_literal(std::string_view text) {
  const std::string_view address = text.substr(0, text.find('%'));
  if (address.find("::") == std::string_view::npos &&
      std::count(address.begin(), address.end(), ':') != 7) {
    return false;
  }
  if (address.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) return false;
  return address.size() == text.size() || is_host_name(text.substr(address.size() + 1));
}

// The hosts in order of first mention. A second mention adds its slots to the first.
class HostList {
 public:
  explicit HostList(std::size_t most = NodeSet::kMaxNodes) : max_(most) {}

  // Adds a node set. Each of its nodes gets `slots`, and the port becomes a part of its name.
  Result<void> add(std::string_view nodes, std::optional<std::uint32_t> slots,
                   std::optional<std::uint32_t> port = {}) {
    auto names = expand_ordered(nodes, max_);
    if (!names) return fail(std::move(names.error()));
    for (std::string& name : *names) {
      if (!is_login(name)) {
        return fail(value_error(cat("'", name, "' cannot be the name of a host"),
                                "a name is made of letters, digits, '.', '-' and '_'"));
      }
      if (port) name += port_text(*port);
      if (auto added = add_one(std::move(name), slots); !added) return added;
    }
    return {};
  }

  Result<void> add_one(std::string name, std::optional<std::uint32_t> slots) {
    const auto [known, is_new] = index_.try_emplace(name, entries_.size());
    if (is_new) {
      if (entries_.size() == max_) {
        return fail(value_error(cat("more than ", max_, " hosts are named"), ""));
      }
      entries_.push_back({std::move(name), slots});
      return {};
    }
    HostEntry& entry = entries_[known->second];
    if (!slots) return {};
    entry.slots = entry.slots.value_or(0) + *slots;
    if (*entry.slots > kMaxSlots) {
      return fail(value_error(cat("host ", entry.name, " would have ", *entry.slots, " slots"),
                              cat("at most ", kMaxSlots, " are possible")));
    }
    return {};
  }

  std::vector<HostEntry> take() { return std::move(entries_); }
  bool empty() const { return entries_.empty(); }

 private:
  std::vector<HostEntry> entries_;
  std::map<std::string, std::size_t> index_;
  std::size_t max_;
};

// Tells whether a character of a text is outside brackets.
class BracketDepth {
 public:
  bool is_outside(char c) {
    if (c == '[') ++depth_;
    const bool outside = depth_ == 0;
    if (c == ']' && depth_ > 0) --depth_;
    return outside;
  }

 private:
  int depth_ = 0;
};

std::size_t find_outside(std::string_view text, std::string_view characters) {
  BracketDepth depth;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (depth.is_outside(text[i]) && characters.find(text[i]) != std::string_view::npos) return i;
  }
  return std::string_view::npos;
}

// Reads "slots=2000:port=22", which has any number of slots and any port.
Result<void> read_keys(std::string_view text, std::optional<std::uint32_t>& slots,
                       std::optional<std::uint32_t>& port) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(':'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const auto equals = std::min(part.find('='), part.size());
    const std::string_view key = part.substr(0, equals);
    if (key != "slots" && key != "port") {
      return fail(value_error(cat("'", part, "' follows the host"),
                              "write host:4, or host:slots=4:port=22"));
    }
    const bool is_of_slots = key == "slots";
    auto number = parse_number(part.substr(std::min(equals + 1, part.size())), 1,
                               is_of_slots ? kMaxSlots : kMaxPort);
    if (!number) return fail(value_error(cat(key, ": ", number.error().why), number.error().hint));
    (is_of_slots ? slots : port) = *number;
  }
  return {};
}

// Adds one element such as "node[1-4]:8", "fe80::1" or "[fe80::1]:8". It has no blanks or commas
// outside brackets.
Result<void> add_element(HostList& hosts, std::string_view element) {
  if (is_ipv6_literal(element)) return hosts.add_one(std::string(element), std::nullopt);
  auto colon = find_outside(element, ":");
  std::string_view nodes = element.substr(0, colon);
  const bool address = nodes.size() > 2 && nodes.front() == '[' && nodes.back() == ']' &&
                       is_ipv6_literal(nodes.substr(1, nodes.size() - 2));
  std::string_view tail = colon == std::string_view::npos ? "" : element.substr(colon + 1);
  const bool has_keys = tail.find('=') != std::string_view::npos;
  if (!address && !has_keys &&
      (nodes.find(':') != std::string_view::npos || tail.find(':') != std::string_view::npos)) {
    return fail(value_error("there is more than one ':' in it",
                            "write an IPv6 address with slots as [ADDRESS]:SLOTS"));
  }
  if (nodes.empty())
    return fail(value_error("no host stands before ':'", std::string(kHostfileSyntax)));
  std::optional<std::uint32_t> slots, port;
  if (has_keys) {
    if (auto read = read_keys(tail, slots, port); !read) return read;
  } else if (colon != std::string_view::npos) {
    auto number = parse_number(tail, 1, kMaxSlots);
    if (!number) {
      return fail(value_error(cat("the slots after ':' are wrong: ", number.error().why),
                              number.error().hint));
    }
    (is_port(*number) ? port : slots) = *number;
  }
  if (!address) return hosts.add(nodes, slots, port);
  // The port needs the brackets, without which it would be a part of the address.
  std::string name(port ? nodes : nodes.substr(1, nodes.size() - 2));
  if (port) name += port_text(*port);
  return hosts.add_one(std::move(name), slots);
}

// Returns the first line of a text, and removes it from the text. An end of line in brackets is a
// part of the line.
std::string_view take_line(std::string_view& text) {
  const auto end = find_outside(text, "\n");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// Adds one line of a SPEC. Operators of node sets extend over commas if no slots are given.
Result<void> add_spec_line(HostList& hosts, std::string_view spec) {
  if (spec.find(':') == std::string_view::npos) return hosts.add(spec, std::nullopt);
  while (!spec.empty()) {
    const auto end = find_outside(spec, ", \t\r\n");
    const std::string_view element = spec.substr(0, end);
    spec.remove_prefix(end == std::string_view::npos ? spec.size() : end + 1);
    if (element.empty()) continue;
    if (auto added = add_element(hosts, element); !added) return added;
  }
  return {};
}

// Adds a whole SPEC.
Result<void> add_spec(HostList& hosts, std::string_view spec) {
  while (!spec.empty())
    if (auto added = add_spec_line(hosts, take_line(spec)); !added) return added;
  return {};
}

Error in_spec(Error inner, std::string_view what, std::string_view text, std::string_view where) {
  constexpr std::size_t kShown = 80;
  const std::string shown =
      text.size() > kShown ? cat(text.substr(0, kShown), "...") : std::string(text);
  return Error{ErrorKind::usage, cat(what, " '", shown, "'"), std::string(where),
               std::move(inner.why),
               inner.hint.empty() ? std::string(kHostfileSyntax) : inner.hint};
}

struct LineWords {
  std::string_view spec;  // up to the first key
  std::optional<std::uint32_t> slots;
  std::optional<std::uint32_t> port;
};

// Returns the number of "slots=4". Blanks around "=" are allowed.
Result<std::uint32_t> key_value(std::string_view key, std::string_view value) {
  auto number = parse_number(value, 1, kMaxSlots);
  if (number) return number;
  return fail(value_error(cat(key, ": ", number.error().why), number.error().hint));
}

// Splits "SPEC slots=n max_slots=m".
Result<LineWords> split_line(std::string_view line) {
  LineWords words;
  std::optional<std::uint32_t> most;
  const auto first_equals = line.find('=');
  if (first_equals == std::string_view::npos) {
    words.spec = line;
    return words;
  }
  // The first key is the word that ends before the first "=".
  const auto key_end = line.find_last_not_of(" \t", first_equals == 0 ? 0 : first_equals - 1);
  const auto before_key = key_end == std::string_view::npos ? std::string_view::npos
                                                            : line.find_last_of(" \t", key_end);
  if (before_key == std::string_view::npos) {
    return fail(value_error("no host stands before the first key", "write host slots=4"));
  }
  words.spec = trim(line.substr(0, before_key));
  std::string_view rest = trim(line.substr(before_key));
  while (!rest.empty()) {
    const auto equals = rest.find('=');
    const std::string_view key = trim(rest.substr(0, equals));
    const std::string_view tail =
        equals == std::string_view::npos ? std::string_view{} : trim(rest.substr(equals + 1));
    const std::string_view value = tail.substr(0, tail.find_first_of(" \t"));
    rest = trim(tail.substr(value.size()));
    const bool is_most = key == "max_slots" || key == "max-slots";
    if (key == "port") {
      auto port = parse_number(value, 1, kMaxPort);
      if (!port) return fail(value_error(cat("port: ", port.error().why), port.error().hint));
      words.port = *port;
      continue;
    }
    if (key != "slots" && !is_most) {
      return fail(value_error(cat("'", key, "' is not a known key"),
                              "the keys are slots, max_slots and port"));
    }
    auto number = key_value(key, value);
    if (!number) return fail(std::move(number.error()));
    (is_most ? most : words.slots) = *number;
  }
  if (most && words.slots.value_or(1) > *most) {
    return fail(value_error("slots is more than max_slots", "raise max_slots or drop it"));
  }
  return words;
}

Result<void> add_line(HostList& hosts, std::string_view line) {
  auto words = split_line(line);
  if (!words) return fail(std::move(words.error()));
  if (const auto blank = find_outside(words->spec, kBetweenWords);
      blank != std::string_view::npos) {
    return fail(value_error(cat("'", trim(words->spec.substr(blank)), "' follows the host"),
                            "write one host or node set a line, slots as host:4 or host slots=4"));
  }
  if (!words->slots && !words->port) return add_spec(hosts, words->spec);
  if (words->spec.find(':') != std::string_view::npos) {
    return fail(value_error("a number after ':' and a key cannot go together",
                            "write host:4, or host slots=4 port=2222"));
  }
  return hosts.add(words->spec, words->slots, words->port);
}

// Parses host lists that blanks, ends of lines or commas separate. "#" begins a comment.
Result<std::vector<HostEntry>> parse_words(std::string_view text) {
  HostList hosts;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = trim(line.substr(0, line.find('#')));
    while (!line.empty()) {
      const auto blank = find_outside(line, kBetweenWords);
      const std::string_view word = line.substr(0, blank);
      line = blank == std::string_view::npos ? std::string_view() : trim(line.substr(blank));
      if (auto added = add_spec(hosts, word); !added)
        return fail(in_spec(std::move(added.error()), "read host list", word, "standard input"));
    }
  }
  if (hosts.empty()) {
    return fail(Error{ErrorKind::usage, "read the hosts from standard input (-w -)", "",
                      "it names no host", "write host lists, separated by blanks or lines"});
  }
  return hosts.take();
}

}  // namespace

LoginParts parts_of_login(std::string_view name) {
  LoginParts out;
  const auto at = name.rfind('@');
  if (at != std::string_view::npos) out.user = name.substr(0, at);
  out.host = at == std::string_view::npos ? name : name.substr(at + 1);
  const bool in_brackets = out.host.starts_with('[');
  const auto colon = out.host.rfind(':');
  if (colon == std::string_view::npos || (!in_brackets && colon != out.host.find(':'))) return out;
  std::string_view number = out.host.substr(colon + 1);
  if (number.starts_with(kPortKey)) number.remove_prefix(kPortKey.size());
  const auto port = parse_number(number, 1, kMaxPort);
  if (!port) return out;
  out.port = static_cast<std::uint16_t>(*port);
  out.host = out.host.substr(0, colon);
  if (in_brackets && out.host.ends_with(']')) out.host = out.host.substr(1, out.host.size() - 2);
  return out;
}

std::string host_text(const HostEntry& host) {
  const LoginParts parts = parts_of_login(host.name);
  if (!host.slots && !parts.port) return host.name;
  const bool is_address = parts.host.find(':') != std::string_view::npos;
  std::string out = cat(parts.user, parts.user.empty() ? "" : "@", is_address ? "[" : "",
                        parts.host, is_address ? "]" : "");
  if (host.slots) out += cat(":slots=", *host.slots);
  if (parts.port) out += cat(":port=", *parts.port);
  return out;
}

Result<std::string> with_sources(std::string_view spec, const HostSourceReader& read) {
  const std::string whole(spec);
  bool is_changed = false;
  std::string out;
  while (!spec.empty()) {
    std::string_view line = take_line(spec);
    // The hosts of each source are a line of their own, to which no operator beside it applies.
    char before = '\n';
    while (!line.empty()) {
      const auto end = find_outside(line, ",");
      const std::string_view element = trim(line.substr(0, end));
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
      if (element != "-" && !element.starts_with('^')) {
        if (!out.empty()) out += before;
        out += element;
        before = ',';
        continue;
      }
      is_changed = true;
      const bool is_input = element == "-";
      const std::string name(is_input ? element : element.substr(1));
      if (name.empty()) return fail(value_error("no file is named after '^'", "write ^FILE"));
      auto text = read(name);
      if (!text) return fail(std::move(text.error()));
      auto hosts = is_input ? parse_words(*text) : parse_hostfile(*text, name);
      if (!hosts) return fail(std::move(hosts.error()));
      before = '\n';
      for (const HostEntry& host : *hosts) {
        if (!out.empty()) out += before;
        out += host_text(host);
        before = ',';
      }
      before = '\n';
    }
  }
  return is_changed ? out : whole;
}

Result<std::vector<HostEntry>> parse_hosts(std::string_view spec, std::string_view where,
                                           std::size_t most) {
  HostList hosts(most);
  if (auto added = add_spec(hosts, spec); !added) {
    return fail(in_spec(std::move(added.error()), "read host list", spec, where));
  }
  if (hosts.empty()) {
    return fail(in_spec(value_error("it names no host"), "read host list", spec, where));
  }
  return hosts.take();
}

Result<NodeSet> names_of_hosts(std::string_view spec) {
  NodeSet names;
  while (!spec.empty()) {
    const std::string_view line = take_line(spec);
    if (line.find(':') == std::string_view::npos) {
      auto set = NodeSet::parse(line);
      if (!set) return set;
      names = names.united(*set);
      continue;
    }
    HostList hosts;
    if (auto added = add_spec_line(hosts, line); !added) {
      return fail(in_spec(std::move(added.error()), "read host list", line, "--nodeset"));
    }
    std::vector<std::string> listed;
    for (HostEntry& host : hosts.take())
      listed.push_back(std::move(host.name));
    auto set = NodeSet::from_names(listed);
    if (!set) return set;
    names = names.united(*set);
  }
  return names;
}

Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, std::string_view file_name) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  HostList hosts;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    if (auto added = add_line(hosts, line); !added) {
      return fail(
          in_spec(std::move(added.error()), "read host line", line, cat(file_name, ':', number)));
    }
  }
  if (hosts.empty()) {
    return fail(Error{ErrorKind::usage, cat("read host file '", file_name, "'"), "",
                      "it names no host", "write one host a line"});
  }
  return hosts.take();
}

Result<std::vector<HostEntry>> exclude_hosts(std::vector<HostEntry> hosts, std::string_view spec) {
  HostList named;
  if (auto added = add_spec(named, spec); !added) {
    return fail(in_spec(std::move(added.error()), "read host list", spec, "--exclude"));
  }
  const std::vector<HostEntry> excluded = named.take();
  std::multimap<std::string_view, LoginParts> by_host;
  for (const HostEntry& host : excluded) {
    const LoginParts parts = parts_of_login(host.name);
    by_host.emplace(parts.host, parts);
  }
  std::erase_if(hosts, [&](const HostEntry& host) {
    const LoginParts parts = parts_of_login(host.name);
    const auto [first, last] = by_host.equal_range(parts.host);
    return std::any_of(first, last, [&](const auto& entry) {
      const LoginParts& out = entry.second;
      return (out.user.empty() || out.user == parts.user) && (!out.port || out.port == parts.port);
    });
  });
  if (hosts.empty()) {
    return fail(in_spec(value_error("no host is left", "exclude fewer hosts"), "leave out hosts",
                        spec, "--exclude"));
  }
  return hosts;
}

}  // namespace scela
