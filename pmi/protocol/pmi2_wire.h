// The messages of PMI-2: a length, and tuples.
//
//   message = length payload          length  = 6 characters: a decimal number, padded with spaces
//   payload = "cmd=" value ";" *tuple  tuple   = key "=" value ";"
//
// MPICH pads on the left, Slurm's client on the right. A ';' in a value is written twice: Slurm's
// client does and reads it so; MPICH's writes no value that has one. Of a repeated key the first
// counts, the order of the others is free, unknown ones are ignored by who looks for known ones.
// Sources: pmodels/mpich src/pmi/maint/pmi-2.0.txt, SchedMD/slurm contribs/pmi2/pmi2_api.c.
//
// Knows no command and no state. Values only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/result.h"

namespace scela::pmi {

inline constexpr std::size_t kLengthField = 6;

// The payload's length, from the kLengthField characters before it. None: they are no length, or 0.
std::optional<std::size_t> parse_length(std::string_view field);

class Pmi2Message {
 public:
  std::string_view command() const { return tuples_.front().second; }
  std::optional<std::string_view> find(std::string_view key) const;
  // In the order in which they came.
  const std::vector<std::pair<std::string, std::string>>& tuples() const { return tuples_; }

 private:
  friend Result<Pmi2Message> parse_message(std::string_view payload);
  std::vector<std::pair<std::string, std::string>> tuples_;  // the first is cmd
};

// Error (protocol): it does not begin with cmd, a tuple has no key, no '=' or no end, a zero byte.
Result<Pmi2Message> parse_message(std::string_view payload);

// Builds a message: Pmi2Writer("finalize-response").add("rc", 0).text() is
// "    28cmd=finalize-response;rc=0;".
class Pmi2Writer {
 public:
  explicit Pmi2Writer(std::string_view command) { add("cmd", command); }
  Pmi2Writer& add(std::string_view key, std::string_view value);
  Pmi2Writer& add(std::string_view key, long long value);
  std::string text() const;

 private:
  std::string payload_;
};

}  // namespace scela::pmi
