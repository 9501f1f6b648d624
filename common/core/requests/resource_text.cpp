#include "common/core/requests/resource_text.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "common/core/text.h"

namespace scela {
namespace {

constexpr std::string_view kHead = "scela-pmix allocation 1";
constexpr std::size_t kMaxWord = 255;

// Returns the part before the first blank, and removes it and the blank from `rest`.
std::string_view next_word(std::string_view& rest) {
  const std::size_t at = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return word;
}

// Returns the line up to its end, and removes both from `rest`. Returns std::nullopt if no line is
// complete.
std::optional<std::string_view> next_line(std::string_view& rest) {
  const std::size_t at = rest.find('\n');
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view line = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  return line;
}

// Returns false if the text is neither a dash nor a number from 1 on.
bool read_slots(std::string_view text, std::optional<std::uint32_t>& slots) {
  if (text == "-") return true;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return false;
  slots = number;
  return true;
}

// Takes one line between the head and the end. Returns false if it is wrong.
bool take_line(std::string_view line, ResourceAnswer& answer, std::set<std::string_view>& known) {
  std::string_view rest = line;
  const std::string_view kind = next_word(rest);
  const std::string_view name = next_word(rest);
  if (!is_resource_word(name)) return false;
  if (kind == "server" && rest.empty()) {
    answer.server = name;
  } else if (kind == "query" && rest.empty()) {
    answer.query = name;
  } else if (kind == "host") {
    ResourceHost host{std::string(name), std::nullopt};
    if (!known.insert(name).second || !read_slots(rest, host.slots)) return false;
    answer.hosts.push_back(std::move(host));
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool is_resource_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxWord && text.front() != '-' &&
         std::ranges::all_of(text,
                             [](char one) { return one > ' ' && one < '\x7f' && one != ','; });
}

std::string text_of(const ResourceAnswer& answer) {
  std::string out = cat(kHead, "\nserver ", answer.server, "\nquery ", answer.query, "\n");
  for (const ResourceHost& host : answer.hosts)
    out += cat("host ", host.name, " ", host.slots ? cat(*host.slots) : "-", "\n");
  return out += "end\n";
}

Result<ResourceAnswer> read_resource_answer(std::string_view text) {
  const auto wrong = [](std::string why) {
    return fail(
        Error{ErrorKind::protocol, "read the answer of scela-pmix", "", std::move(why), ""});
  };
  ResourceAnswer out;
  std::set<std::string_view> known;
  std::size_t number = 0;
  std::string_view rest = text;
  while (const auto line = next_line(rest)) {
    ++number;
    if (*line == "end" && number > 1 && rest.empty()) return out;
    const bool is_sound = number == 1 ? *line == kHead : take_line(*line, out, known);
    if (!is_sound) return wrong(cat("line ", number, " of it is not understood"));
  }
  return wrong("its end is missing");
}

std::string text_of(const LostNode& lost) {
  return cat("lost ", lost.name, " ", lost.event);
}

std::optional<LostNode> read_lost_node(std::string_view line) {
  if (next_word(line) != "lost") return std::nullopt;
  const std::string_view name = next_word(line);
  if (!is_resource_word(name) || !is_resource_word(line)) return std::nullopt;
  return LostNode{std::string(name), std::string(line)};
}

}  // namespace scela
