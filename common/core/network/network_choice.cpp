#include "common/core/network/network_choice.h"

#include <algorithm>
#include <charconv>

#include "common/core/text.h"

namespace scela {
namespace {

constexpr std::size_t kLongestInterface = 15;  // IFNAMSIZ without its end

template <class Number>
bool read_number(std::string_view text, Number& out, Number most, int base = 10) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out, base);
  return !text.empty() && read.ec == std::errc() && read.ptr == end && out <= most;
}

// Appends the groups of an IPv6 address between colons, or of an IPv4 address at its end.
bool append_groups(std::string_view text, std::vector<std::uint8_t>& out) {
  while (!text.empty()) {
    const auto colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    const bool is_last = colon == std::string_view::npos;
    if (is_last && group.find('.') != std::string_view::npos) {
      const auto four = parse_numeric_address(group);
      if (!four || four->size != 4) return false;
      out.insert(out.end(), four->bytes.begin(), four->bytes.begin() + 4);
      return true;
    }
    std::uint32_t number = 0;
    if (group.size() > 4 || !read_number<std::uint32_t>(group, number, 0xffff, 16)) return false;
    out.push_back(static_cast<std::uint8_t>(number >> 8));
    out.push_back(static_cast<std::uint8_t>(number & 0xff));
    if (is_last) return true;
    text.remove_prefix(colon + 1);
    if (text.empty()) return false;  // it ends with one colon
  }
  return true;
}

std::optional<NumericAddress> parse_ipv6(std::string_view text) {
  const auto gap = text.find("::");
  const bool has_gap = gap != std::string_view::npos;
  // An IPv4 address may only be the end.
  if (has_gap && text.substr(0, gap).find('.') != std::string_view::npos) return std::nullopt;
  std::vector<std::uint8_t> head, tail;
  if (!append_groups(text.substr(0, gap), head)) return std::nullopt;
  if (has_gap && !append_groups(text.substr(gap + 2), tail)) return std::nullopt;
  const std::size_t known = head.size() + tail.size();
  if (has_gap ? known > 14 : known != 16) return std::nullopt;
  NumericAddress out;
  out.size = 16;
  std::ranges::copy(head, out.bytes.begin());
  std::ranges::copy(tail, out.bytes.end() - static_cast<std::ptrdiff_t>(tail.size()));
  return out;
}

bool is_interface(std::string_view text) {
  const auto fits = [](char c) {
    return c > ' ' && c < '\x7f' && c != '/' && c != ':' && c != '%';
  };
  return !text.empty() && text.size() <= kLongestInterface && std::ranges::all_of(text, fits);
}

Error refused(std::string why, std::string hint) {
  return Error{ErrorKind::usage, "", "", std::move(why), std::move(hint)};
}

Result<NetworkChoice> parse_choice(std::string_view text) {
  constexpr std::string_view kHint = "give interfaces or prefixes: ib0, 10.1.0.0/16, fd00:1::/64";
  NetworkChoice out;
  const auto slash = text.find('/');
  const auto address = parse_numeric_address(text.substr(0, slash));
  if (!address) {
    const bool is_prefix = slash != std::string_view::npos;
    if (is_prefix || !is_interface(text))
      return fail(refused(cat("'", text, "' is neither an interface nor a prefix of addresses"),
                          std::string(kHint)));
    out.interface = text;
    return out;
  }
  out.address = *address;
  out.bits = address->size * 8;
  if (slash == std::string_view::npos) return out;
  const std::uint32_t most = out.bits;
  if (read_number<std::uint32_t>(text.substr(slash + 1), out.bits, most)) return out;
  return fail(refused(cat("the length of the prefix '", text, "' is not within 0 and ", most),
                      std::string(kHint)));
}

bool has_prefix(const NumericAddress& address, const NumericAddress& prefix, std::uint32_t bits) {
  if (address.size != prefix.size) return false;
  for (std::uint32_t bit = 0; bit < bits; ++bit) {
    const auto differs = static_cast<unsigned>(address.bytes[bit / 8] ^ prefix.bytes[bit / 8]);
    if ((differs >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

bool shares_subnet(const NumericAddress& other, const InterfaceAddress& own) {
  const auto parsed = parse_numeric_address(own.address);
  return !own.is_loopback && own.bits > 0 && parsed && has_prefix(other, *parsed, own.bits);
}

// Returns true if a connection to this address ends on the machine that makes it: the loopback and
// the unspecified address, also as IPv4 in IPv6.
bool leads_nowhere_else(const NumericAddress& address) {
  const auto is_in = [&](const char* prefix, std::uint32_t bits) {
    return has_prefix(address, *parse_numeric_address(prefix), bits);
  };
  return is_in("127.0.0.0", 8) || is_in("0.0.0.0", 8) || is_in("::1", 128) || is_in("::", 128) ||
         is_in("::ffff:127.0.0.0", 104) || is_in("::ffff:0.0.0.0", 104);
}

// Returns the address of the machine that this element means, or nullptr.
const InterfaceAddress* meant_by(const NetworkChoice& choice,
                                 const std::vector<InterfaceAddress>& machine) {
  for (const bool is_loopback : {false, true}) {
    const auto found = std::ranges::find_if(machine, [&](const InterfaceAddress& one) {
      return one.is_loopback == is_loopback && choice.means(one);
    });
    if (found != machine.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

std::optional<NumericAddress> parse_numeric_address(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return parse_ipv6(text);
  NumericAddress out;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    // A number with more digits may be octal to others.
    if ((dot == std::string_view::npos) != (i == 3) || part.size() > 3) return std::nullopt;
    std::uint32_t number = 0;
    if (!read_number<std::uint32_t>(part, number, 255)) return std::nullopt;
    out.bytes[i] = static_cast<std::uint8_t>(number);
    if (i < 3) text.remove_prefix(dot + 1);
  }
  return out;
}

bool NetworkChoice::means(const InterfaceAddress& one) const {
  if (!interface.empty()) return one.interface == interface;
  const auto parsed = parse_numeric_address(one.address);
  return parsed && has_prefix(*parsed, address, bits);
}

Result<std::vector<NetworkChoice>> parse_network(std::string_view text) {
  std::vector<NetworkChoice> out;
  for (bool is_last = false; !is_last;) {
    const auto comma = text.find(',');
    is_last = comma == std::string_view::npos;
    auto choice = parse_choice(text.substr(0, comma));
    if (!choice) return fail(std::move(choice.error()));
    out.push_back(std::move(*choice));
    if (!is_last) text.remove_prefix(comma + 1);
  }
  return out;
}

Result<std::string> address_in(std::string_view text,
                               const std::vector<InterfaceAddress>& machine) {
  auto choices = parse_network(text);
  if (!choices) return fail(std::move(choices.error()));
  for (const NetworkChoice& choice : *choices)
    if (const InterfaceAddress* found = meant_by(choice, machine)) return found->address;
  std::string known;
  for (const InterfaceAddress& one : machine)
    known += cat(known.empty() ? "" : ", ", one.address, " (", one.interface, ")");
  return fail(Error{ErrorKind::launch, cat("use the network ", text, " (--network)"), "",
                    known.empty() ? std::string("the machine has no address")
                                  : cat("the machine has no address there, but ", known),
                    "name a network that all hosts have, or leave this host out (-x)"});
}

bool may_be_in(std::string_view text, std::string_view address,
               const std::vector<InterfaceAddress>& machine) {
  const auto choices = parse_network(text);
  const auto told = parse_numeric_address(address);
  if (!choices || !told) return false;
  return std::ranges::any_of(*choices, [&](const NetworkChoice& choice) {
    if (choice.interface.empty()) {
      if (!has_prefix(*told, choice.address, choice.bits)) return false;
      if (!leads_nowhere_else(*told)) return true;
      const InterfaceAddress* own = meant_by(choice, machine);
      return own != nullptr && own->is_loopback;
    }
    return std::ranges::any_of(machine, [&](const InterfaceAddress& own) {
      return choice.means(own) && shares_subnet(*told, own);
    });
  });
}

std::string judged_part(std::string_view text, const std::vector<InterfaceAddress>& machine) {
  std::string out;
  bool is_whole = true;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const auto choice = parse_choice(one);
    const bool is_judged =
        choice && (choice->interface.empty() ||
                   std::ranges::any_of(machine, [&](const InterfaceAddress& own) {
                     return choice->means(own) && !own.is_loopback;
                   }));
    if (is_judged) out += cat(out.empty() ? "" : ",", one);
    is_whole = is_whole && is_judged;
  }
  return is_whole || out.empty() ? out : cat(out, ",");
}

}  // namespace scela
