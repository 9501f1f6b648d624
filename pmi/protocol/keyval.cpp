#include "pmi/protocol/keyval.h"

#include <algorithm>
#include <charconv>

#include "common/core/text.h"
#include "pmi/protocol/limits.h"

namespace scela::pmi {

namespace {

constexpr std::size_t kExcerpt = 80;
constexpr std::size_t kMaxWord = 200;
constexpr char kHex[] = "0123456789abcdef";

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

Error malformed_line(std::string_view text, std::string why) {
  return {.kind = ErrorKind::protocol,
          .what = cat("read PMI-1 line \"", excerpt(text), "\""),
          .where = {},
          .why = std::move(why),
          .hint = {}};
}

// Returns true if `key`, after these tuples, starts free text that runs to the end of the line.
bool takes_the_rest(const Line& before, std::string_view key) {
  const auto has = [&](std::string_view name) { return before.find(name).has_value(); };
  if (key == "value") return has("cmd") && has("kvsname") && has("key");
  if (key == "message") return has("cmd") && has("exitcode");
  return false;
}

}  // namespace

std::optional<std::string_view> Line::find(std::string_view key) const {
  for (const auto& [name, value] : tuples_) {
    if (name == key) return value;
  }
  return std::nullopt;
}

Result<Line> parse_line(std::string_view text) {
  if (text.size() > kMaxLine) {
    return fail(malformed_line(text, cat("the line is longer than ", kMaxLine, " bytes")));
  }
  for (const char c : text) {
    if (is_control(c) && !is_space(c)) {
      return fail(malformed_line(text, "it holds a control character"));
    }
  }
  Line line;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_space(text[at]))
      ++at;
    if (at == text.size()) return line;
    std::size_t end = at;
    while (end < text.size() && !is_space(text[end]) && text[end] != '=')
      ++end;
    const std::string_view key = text.substr(at, end - at);
    if (key.empty()) return fail(malformed_line(text, "a value has no key"));
    std::string_view value;
    if (end < text.size() && text[end] == '=') {
      const std::size_t begin = ++end;
      if (takes_the_rest(line, key)) {
        end = text.size();
      } else {
        while (end < text.size() && !is_space(text[end]))
          ++end;
      }
      value = text.substr(begin, end - begin);
    }
    line.tuples_.emplace_back(key, value);
    at = end;
  }
}

std::optional<int> parse_int(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

LineWriter& LineWriter::add(std::string_view key, std::string_view value) {
  text_ += ' ';
  text_ += key;
  text_ += '=';
  text_ += value;
  return *this;
}

LineWriter& LineWriter::add(std::string_view key, long long value) {
  return add(key, std::string_view(cat(value)));
}

std::string zeros(std::uint64_t count, std::size_t most) {
  std::string text;
  if (count > most) return text;
  for (std::uint64_t i = 0; i < count; ++i)
    text += i == 0 ? "0" : ",0";
  return text.size() <= most ? text : std::string();
}

std::string as_word(std::string_view text) {
  std::string word(text.substr(0, kMaxWord));
  std::replace_if(
      word.begin(), word.end(), [](char c) { return c == ' ' || is_control(c); }, '_');
  return word;
}

std::string excerpt(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kExcerpt)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 0xf];
    } else {
      out += c;
    }
  }
  if (text.size() > kExcerpt) out += "...";
  return out;
}

}  // namespace scela::pmi
