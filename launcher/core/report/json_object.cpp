#include "launcher/core/report/json_object.h"

#include "launcher/core/values/utf8.h"

namespace scela {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Returns the escape sequence of a character that may not be in a string as it is, or "".
std::string escape_of(char one) {
  switch (one) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(one);
  if (byte >= 0x20 && byte != 0x7f) return "";
  constexpr std::string_view kDigits = "0123456789abcdef";
  return cat("\\u00", kDigits[byte >> 4], kDigits[byte & 15]);
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += kReplacement;
    } else if (const std::string escaped = escape_of(text.front());
               length == 1 && !escaped.empty()) {
      out += escaped;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

std::string json_seconds(std::uint64_t us) {
  constexpr std::uint64_t kSecond = 1'000'000;
  const std::string rest = cat(us % kSecond);
  return cat(us / kSecond, '.', std::string(6 - rest.size(), '0'), rest);
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  return json(name, json_string(value));
}

JsonObject& JsonObject::optional_text(std::string_view name,
                                      const std::optional<std::string>& value) {
  return json(name, value ? json_string(*value) : "null");
}

JsonObject& JsonObject::seconds(std::string_view name, const std::optional<std::uint64_t>& us) {
  return json(name, us ? json_seconds(*us) : "null");
}

JsonObject& JsonObject::flag(std::string_view name, bool value) {
  return json(name, cat(value));
}

JsonObject& JsonObject::json(std::string_view name, std::string_view value) {
  members_ += cat(members_.empty() ? "" : ",", json_string(name), ':', value);
  return *this;
}

}  // namespace scela
