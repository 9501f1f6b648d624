// Reads and writes the messages of PMI-2, each a length and tuples. Sessions and the client
// libraries use it.
//
//   message = length payload          length  = 6 characters: a decimal number, padded with spaces
//   payload = "cmd=" value ";" *tuple  tuple   = key "=" value ";"
//
// MPICH pads on the left, Slurm's client on the right. A ';' in a value is written twice. Slurm's
// client does so in both directions; MPICH's client writes no value with a ';'. If a key is
// repeated, its first value counts. The tuples after cmd may come in any order, and a reader
// ignores unknown keys.
// Sources: pmodels/mpich src/pmi/maint/pmi-2.0.txt, SchedMD/slurm contribs/pmi2/pmi2_api.c.
//
// Knows no command and no state. Values only, for any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/result.h"

namespace scela::pmi {

// The bytes of the length before each payload.
inline constexpr std::size_t kLengthField = 6;

// Returns the payload's length in bytes, from the kLengthField characters before it. Returns
// std::nullopt if they are no number, or 0.
std::optional<std::size_t> parse_length(std::string_view field);

// The tuples of one message. It owns its texts, in which each ";;" has become ';'.
class Pmi2Message {
 public:
  // Returns the value of cmd. Requires a message of parse_message().
  std::string_view command() const { return tuples_.front().second; }
  // Returns the first value of the key, which may be empty. Returns std::nullopt if the message
  // does not have the key.
  std::optional<std::string_view> find(std::string_view key) const;
  // Returns all tuples in the order in which they came.
  const std::vector<std::pair<std::string, std::string>>& tuples() const { return tuples_; }

 private:
  friend Result<Pmi2Message> parse_message(std::string_view payload);
  std::vector<std::pair<std::string, std::string>> tuples_;  // the first is cmd
};

// Parses the payload of a message, without its length. Returns an error (protocol) if it does not
// begin with cmd or holds a zero byte, or if a tuple has no key, no '=' or no end.
Result<Pmi2Message> parse_message(std::string_view payload);

// Builds a message: Pmi2Writer("finalize-response").add("rc", 0).text() returns
// "    28cmd=finalize-response;rc=0;".
class Pmi2Writer {
 public:
  explicit Pmi2Writer(std::string_view command) { add("cmd", command); }
  // Append a tuple. Each ';' in `value` is written twice.
  Pmi2Writer& add(std::string_view key, std::string_view value);
  Pmi2Writer& add(std::string_view key, long long value);
  // Returns the message with its length before it.
  std::string text() const;

 private:
  std::string payload_;
};

}  // namespace scela::pmi
