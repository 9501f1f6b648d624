// The stream of bytes with what is typed at the terminals of several ranks: Job::input_by_rank.
// Each record names its rank. The stream travels as standard input does; the agent of a rank takes
// the rank's records out of it. scela-run and the agents use it; all of it is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"
#include "common/core/terminal_modes.h"

namespace scela::nla {

// The most terminals that a job may have. Every agent with a terminal gets what is typed at all of
// them, and a person looks at fewer.
inline constexpr std::size_t kMaxTerminals = 64;
// The most keys in a record.
inline constexpr std::size_t kMaxKeys = 4096;

struct TerminalInput {
  enum class Kind : std::uint8_t { keys, size, hang_up };
  Rank rank = 0;
  Kind kind = Kind::keys;
  std::string keys;  // of Kind::keys, at most kMaxKeys bytes
  WindowSize size;   // of Kind::size
  friend bool operator==(const TerminalInput&, const TerminalInput&) = default;
};

// Returns the record in the form that TerminalInputReader reads.
std::string encode(const TerminalInput& input);

// Reads records from a stream that comes in pieces.
class TerminalInputReader {
 public:
  // Adds the next bytes of the stream.
  void add(std::string_view bytes) { bytes_ += bytes; }
  // Returns the next record, or std::nullopt if it is not complete yet, or if the stream is broken.
  std::optional<TerminalInput> next();
  // Returns true once a record was none. The stream has no records from there on.
  bool broken() const { return broken_; }

 private:
  std::string bytes_;
  bool broken_ = false;
};

}  // namespace scela::nla
