// Parses the first words on a connection that a process makes to its node's port: its rank, or a
// request to abort the job. The agent's port uses it before it makes a session.
//
//   PMI-1 over PMI_PORT   cmd=initack pmiid=RANK LF
//   PMGR 8, MVAPICH 1     version, rank (native ints); an abort comes on a connection of its own:
//                         code, rank[, length, message with a NUL]
//
// The first integer of an abort may look like a version. The message is an abort if the rank has
// checked in already, since no client checks in twice. Pure functions, for any thread; they keep
// nothing between calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "common/core/rank_set.h"
#include "pmi/protocol/job_facts.h"

namespace scela::pmi {

// Says what a process speaks: the table above. pmi1: PMI-1 over PMI_PORT. pmgr: PMGR, protocol 8.
// mvapich1: the older PMGR of MVAPICH 1.
enum class Dialect : std::uint8_t { pmi1, pmgr, mvapich1 };

// In bytes. A PMI-1 client that has sent this much without a complete line counts as nonsense, as
// does a longer abort. An abort's message is at most 256 bytes (peer: LLNL's client).
inline constexpr std::size_t kMaxGreeting = 4096;

namespace greeting {
// The process is this rank and goes on with its session.
struct Hello {
  Rank rank = 0;
  std::size_t used = 0;  // in bytes; the session gets the rest
};
// The process asks for the end of the job with this exit code, in the name of this rank.
struct Abort {
  Rank rank = 0;
  std::int32_t code = 0;
  std::string message{};  // for the user; may be empty
};
// The process says that it is this rank, but another connection is that rank's already.
struct RepeatedHello {
  Rank rank = 0;
};
// The bytes are no greeting. `why` completes "the process ...".
struct Malformed {
  std::string why;  // "sent ...", for the user
};
}  // namespace greeting

using Greeting =
    std::variant<greeting::Hello, greeting::Abort, greeting::RepeatedHello, greeting::Malformed>;

namespace greeting {
// The two steps of read_greeting(), with its arguments. speaker() returns the rank that the bytes
// name, and meaning() what they mean if they are of `rank`, which has `checked_in` by an earlier
// connection or not. Both return std::nullopt if more bytes are needed.
std::optional<std::variant<Rank, Malformed>> speaker(Dialect dialect, std::string_view bytes,
                                                     bool ended, Rank size);
std::optional<Greeting> meaning(Dialect dialect, std::string_view bytes, bool ended, Rank rank,
                                bool checked_in);
}  // namespace greeting

// Returns the meaning of the bytes that a process has sent so far, or std::nullopt if more are
// needed. `bytes` are all bytes since the connection was made. If `ended` is true, no more bytes
// come, and there is always a meaning. `size` is the number of ranks of the job. `checked_in(rank)`
// returns true if that rank, below `size`, has said hello on another connection.
template <class CheckedIn>
std::optional<Greeting> read_greeting(Dialect dialect, std::string_view bytes, bool ended,
                                      Rank size, CheckedIn&& checked_in) {
  const auto who = greeting::speaker(dialect, bytes, ended, size);
  if (!who) return std::nullopt;
  if (const auto* malformed = std::get_if<greeting::Malformed>(&*who)) return *malformed;
  const Rank rank = std::get<Rank>(*who);
  return greeting::meaning(dialect, bytes, ended, rank, checked_in(rank));
}

// Returns the lines that answer a Hello of PMI-1: a client of PMI_PORT reads them before it sends
// init.
std::string initack_answer(const JobFacts& facts);

}  // namespace scela::pmi
