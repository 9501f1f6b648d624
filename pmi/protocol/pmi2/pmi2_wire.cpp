#include "pmi/protocol/pmi2/pmi2_wire.h"

#include <charconv>

#include "common/core/text.h"
#include "pmi/protocol/keyval.h"

namespace scela::pmi {

namespace {

tl::unexpected<Error> malformed_message(std::string_view payload, std::string why) {
  return fail(Error{.kind = ErrorKind::protocol,
                    .what = cat("read PMI-2 message \"", excerpt(payload), "\""),
                    .where = {},
                    .why = std::move(why),
                    .hint = {}});
}

}  // namespace

std::optional<std::size_t> parse_length(std::string_view field) {
  const std::size_t first = field.find_first_not_of(' ');
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view digits = field.substr(first, field.find_last_not_of(' ') - first + 1);
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (error != std::errc{} || end != digits.data() + digits.size() || length == 0) {
    return std::nullopt;
  }
  return length;
}

std::optional<std::string_view> Pmi2Message::find(std::string_view key) const {
  for (const auto& [name, value] : tuples_) {
    if (name == key) return value;
  }
  return std::nullopt;
}

Result<Pmi2Message> parse_message(std::string_view payload) {
  if (payload.find('\0') != std::string_view::npos) {
    return malformed_message(payload, "it holds a zero byte");
  }
  Pmi2Message message;
  for (std::size_t at = 0; at < payload.size();) {
    const std::size_t equals = payload.find_first_of("=;", at);
    if (equals == std::string_view::npos || payload[equals] != '=') {
      return malformed_message(payload, "a key has no value");
    }
    if (equals == at) return malformed_message(payload, "a value has no key");
    std::string value;
    for (std::size_t from = equals + 1;;) {
      const std::size_t end = payload.find(';', from);
      if (end == std::string_view::npos)
        return malformed_message(payload, "its last value has no end");
      value += payload.substr(from, end - from);
      from = end + 1;
      if (from == payload.size() || payload[from] != ';') {
        message.tuples_.emplace_back(payload.substr(at, equals - at), std::move(value));
        at = from;
        break;
      }
      value += ';';
      ++from;
    }
  }
  if (message.tuples_.empty() || message.tuples_.front().first != "cmd") {
    return malformed_message(payload, "it does not begin with cmd");
  }
  return message;
}

Pmi2Writer& Pmi2Writer::add(std::string_view key, std::string_view value) {
  payload_ += key;
  payload_ += '=';
  for (const char c : value) {
    if (c == ';') payload_ += ';';
    payload_ += c;
  }
  payload_ += ';';
  return *this;
}

Pmi2Writer& Pmi2Writer::add(std::string_view key, long long value) {
  return add(key, std::string_view(cat(value)));
}

std::string Pmi2Writer::text() const {
  const std::string length = cat(payload_.size());
  return std::string(kLengthField - length.size(), ' ') + length + payload_;
}

}  // namespace scela::pmi
