#include "launcher/core/detect/host_lists.h"

#include <algorithm>

#include "common/core/text.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

constexpr std::size_t kMaxNameBytes = 255;  // of a host, as in the domain name system

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_of_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
         c == '_';
}

// Returns the first bytes of a text of any length, in quotes.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return cat("'", text.substr(0, kShown), text.size() > kShown ? "..." : "", "'");
}

std::string too_many_hosts() {
  return cat("there are more than ", kMaxAllocatedHosts, " hosts");
}

Result<void> check_name(std::string_view name) {
  const bool is_name = !name.empty() && name.size() <= kMaxNameBytes && name.front() != '-' &&
                       std::ranges::all_of(name, is_of_name);
  if (is_name) return {};
  return fail(value_error(cat(quoted(name), " is not the name of a host")));
}

// Returns the words of a line, which are separated by blanks and tabs, without a comment.
std::vector<std::string_view> words_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r\n"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// Calls `take` with the words of each line that has any, and the number of the line, from 1. Ends
// with the first error, to which it adds the line.
template <class Take>
Result<void> for_each_line(std::string_view text, Take take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (Result<void> taken = take(words); !taken) {
      Error error = std::move(taken.error());
      error.why = cat("line ", number, ": ", error.why);
      return fail(std::move(error));
    }
  }
  return {};
}

// Expands one element of a node list: literal texts and brackets in turn.
class ElementReader {
 public:
  explicit ElementReader(std::string_view element) : whole_(element), rest_(element) {}

  Result<std::vector<std::string>> read() {
    while (!rest_.empty()) {
      const std::size_t bracket = std::min(rest_.find('['), rest_.size());
      append(rest_.substr(0, bracket));
      rest_.remove_prefix(bracket);
      if (rest_.empty()) break;
      const std::size_t end = rest_.find(']');
      if (end == std::string_view::npos) return fail(not_understood("a bracket is not closed"));
      auto numbers = read_numbers(rest_.substr(1, end - 1));
      if (!numbers) return fail(std::move(numbers.error()));
      if (numbers->size() > kMaxAllocatedHosts / names_.size())
        return fail(value_error(too_many_hosts()));
      multiply(*numbers);
      rest_.remove_prefix(end + 1);
    }
    return std::move(names_);
  }

 private:
  Error not_understood(std::string_view why) const {
    return value_error(cat(quoted(whole_), ": ", why));
  }

  void append(std::string_view text) {
    for (std::string& name : names_)
      name += text;
  }

  void multiply(const std::vector<std::string>& numbers) {
    std::vector<std::string> out;
    out.reserve(names_.size() * numbers.size());
    for (const std::string& name : names_)
      for (const std::string& number : numbers)
        out.push_back(name + number);
    names_ = std::move(out);
  }

  // Reads "001-004,7".
  Result<std::vector<std::string>> read_numbers(std::string_view list) const {
    constexpr std::size_t kMaxDigits = 9;
    std::vector<std::string> out;
    while (true) {
      const std::size_t comma = std::min(list.find(','), list.size());
      const std::string_view range = list.substr(0, comma);
      const std::size_t dash = std::min(range.find('-'), range.size());
      const std::string_view first = range.substr(0, dash);
      const std::string_view last = dash < range.size() ? range.substr(dash + 1) : first;
      const bool are_numbers = !first.empty() && !last.empty() && first.size() <= kMaxDigits &&
                               last.size() <= kMaxDigits && std::ranges::all_of(first, is_digit) &&
                               std::ranges::all_of(last, is_digit);
      if (!are_numbers) return fail(not_understood(cat(quoted(range), " is not a range")));
      const std::uint32_t from = *parse_number(first, 0, UINT32_MAX);
      const std::uint32_t to = *parse_number(last, 0, UINT32_MAX);
      if (to < from) return fail(not_understood(cat(quoted(range), " ends before it begins")));
      if (to - from >= kMaxAllocatedHosts - out.size()) return fail(value_error(too_many_hosts()));
      for (std::uint32_t number = from; number <= to; ++number) {
        const std::string digits = cat(number);
        out.push_back(std::string(first.size() - std::min(first.size(), digits.size()), '0') +
                      digits);
      }
      if (comma == list.size()) return out;
      list.remove_prefix(comma + 1);
    }
  }

  const std::string_view whole_;
  std::string_view rest_;
  std::vector<std::string> names_ = {""};
};

// Returns the end of the first element: the first comma outside of brackets, or the end.
std::size_t end_of_element(std::string_view list) {
  bool inside = false;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] == '[') inside = true;
    if (list[at] == ']') inside = false;
    if (list[at] == ',' && !inside) return at;
  }
  return list.size();
}

// Returns the number of processors in "0-3,8". Returns an error if the text is no such list.
Result<std::uint32_t> count_cpus(std::string_view list) {
  std::uint32_t count = 0;
  for (const std::string& range : split_list(list, ',')) {
    const std::size_t dash = range.find('-');
    const auto first = parse_number(std::string_view(range).substr(0, dash), 0, kMaxOfHost);
    const auto last = dash == std::string::npos
                          ? first
                          : parse_number(std::string_view(range).substr(dash + 1), 0, kMaxOfHost);
    if (!first || !last || *last < *first || count > kMaxOfHost)
      return fail(value_error(cat(quoted(list), " is not a list of processors")));
    count += *last - *first + 1;
  }
  return count;
}

}  // namespace

std::string_view short_name(std::string_view host) {
  return host.substr(0, host.find('.'));
}

Result<void> HostTally::add(std::string_view name, std::uint32_t slots) {
  if (auto valid = check_name(name); !valid) return valid;
  const auto at = positions_.find(name);
  if (at == positions_.end()) {
    if (hosts_.size() >= kMaxAllocatedHosts) return fail(value_error(too_many_hosts()));
    positions_.emplace(name, hosts_.size());
    hosts_.push_back({std::string(name), slots, std::nullopt});
    return {};
  }
  AllocatedHost& host = hosts_[at->second];
  if (slots > kMaxOfHost - *host.slots)
    return fail(value_error(cat(quoted(name), " has more than ", kMaxOfHost, " slots")));
  host.slots = *host.slots + slots;
  return {};
}

std::vector<AllocatedHost> HostTally::take() {
  positions_.clear();
  return std::move(hosts_);
}

Result<std::vector<std::string>> expand_node_list(std::string_view list) {
  std::vector<std::string> out;
  list = trim(list);
  while (!list.empty()) {
    const std::size_t end = end_of_element(list);
    auto names = ElementReader(list.substr(0, end)).read();
    if (!names) return fail(std::move(names.error()));
    if (names->size() > kMaxAllocatedHosts - out.size()) return fail(value_error(too_many_hosts()));
    for (std::string& name : *names) {
      if (auto valid = check_name(name); !valid) return fail(std::move(valid.error()));
      out.push_back(std::move(name));
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

Result<std::vector<std::uint32_t>> expand_counts(std::string_view list, std::size_t most) {
  std::vector<std::uint32_t> out;
  for (const std::string& element : split_list(list, ',')) {
    const std::string_view text = element;
    const std::size_t open = text.find("(x");
    const bool repeats = open != std::string_view::npos && text.ends_with(')');
    const auto count = parse_number(text.substr(0, open), 1, kMaxOfHost);
    const auto times =
        repeats ? parse_number(text.substr(open + 2, text.size() - open - 3), 1, UINT32_MAX)
                : parse_number("1", 1, 1);
    if (!count || !times || (open != std::string_view::npos && !repeats))
      return fail(value_error(cat(quoted(element), " is not a count, or COUNT(xTIMES)")));
    if (*times > most - out.size())
      return fail(value_error(cat(quoted(list), " has more counts than there are hosts")));
    out.insert(out.end(), *times, *count);
  }
  return out;
}

Result<std::vector<AllocatedHost>> hosts_by_line(std::string_view text) {
  HostTally tally;
  auto read = for_each_line(text, [&](const auto& words) { return tally.add(words.front(), 1); });
  if (!read) return fail(std::move(read.error()));
  return tally.take();
}

Result<std::vector<AllocatedHost>> parse_pe_hostfile(std::string_view text) {
  HostTally tally;
  std::map<std::string, std::uint32_t, std::less<>> bound;  // processors of hosts with a binding
  auto read = for_each_line(text, [&](const auto& words) -> Result<void> {
    if (words.size() < 2) return fail(value_error("the number of slots is missing"));
    const auto slots = parse_number(words[1], 1, kMaxOfHost);
    if (!slots) return fail(slots.error());
    if (words.size() > 3 && is_digit(words[3].front()))
      bound[std::string(words[0])] +=
          static_cast<std::uint32_t>(std::ranges::count(words[3], ':') + 1);
    return tally.add(words[0], *slots);
  });
  if (!read) return fail(std::move(read.error()));
  std::vector<AllocatedHost> hosts = tally.take();
  for (AllocatedHost& host : hosts) {
    if (const auto at = bound.find(host.name); at != bound.end()) host.cpus = at->second;
  }
  return hosts;
}

Result<std::vector<AllocatedHost>> parse_mcpu_hosts(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() % 2 != 0)
    return fail(value_error(cat("the number of slots of ", quoted(words.back()), " is missing")));
  HostTally tally;
  for (std::size_t at = 0; at < words.size(); at += 2) {
    const auto slots = parse_number(words[at + 1], 1, kMaxOfHost);
    if (!slots) return fail(slots.error());
    if (auto added = tally.add(words[at], *slots); !added) return fail(std::move(added.error()));
  }
  return tally.take();
}

Result<void> add_affinity(std::string_view text, std::vector<AllocatedHost>& hosts) {
  std::map<std::string_view, std::uint32_t> counts;
  auto read = for_each_line(text, [&](const auto& words) -> Result<void> {
    if (words.size() < 2) return {};
    const auto count = count_cpus(words[1]);
    if (!count) return fail(count.error());
    std::uint32_t& sum = counts[short_name(words[0])];
    if (*count > kMaxOfHost - std::min(sum, kMaxOfHost))
      return fail(value_error("a host has too many processors"));
    sum += *count;
    return {};
  });
  if (!read) return read;
  for (AllocatedHost& host : hosts) {
    const auto at = counts.find(short_name(host.name));
    if (at != counts.end() && at->second > 0) host.cpus = at->second;
  }
  return {};
}

}  // namespace scela
