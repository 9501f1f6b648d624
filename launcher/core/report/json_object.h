// Builds one JSON object (RFC 8259) as text on one line. The records of --json are made of it
// (json_records.h, presentation.cpp).
//
// An object is a value, for one thread. Members keep the order in which they were added. The caller
// adds each name once.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/text.h"

namespace scela {

// Returns the text as a JSON string with its quotes. Each byte that is not part of well-formed
// UTF-8 becomes the replacement character (U+FFFD).
std::string json_string(std::string_view text);
// Returns a time in microseconds as a JSON number of seconds, such as "1.250000".
std::string json_seconds(std::uint64_t us);

// The object under construction.
class JsonObject {
 public:
  // Each adds a member. A missing value becomes null.
  JsonObject& text(std::string_view name, std::string_view value);
  JsonObject& optional_text(std::string_view name, const std::optional<std::string>& value);
  JsonObject& seconds(std::string_view name, const std::optional<std::uint64_t>& us);
  JsonObject& flag(std::string_view name, bool value);
  template <std::integral Number>
  JsonObject& number(std::string_view name, Number value) {
    return json(name, cat(value));
  }
  template <std::integral Number>
  JsonObject& number(std::string_view name, const std::optional<Number>& value) {
    return json(name, value ? cat(*value) : "null");
  }
  // Adds a member with a value that is JSON already, such as an object or an array.
  JsonObject& json(std::string_view name, std::string_view value);

  // Returns the object, without a newline.
  std::string str() const { return cat('{', members_, '}'); }

 private:
  std::string members_;
};

}  // namespace scela
