// The first words on a connection that a process makes to its node's port: who it is, or that it
// wants the end of the job.
//
//   PMI-1 over PMI_PORT   cmd=initack pmiid=RANK LF
//   PMGR 8, MVAPICH 1     version, rank (native ints); an abort comes on a connection of its own:
//                         code, rank[, length, message with a NUL]
//
// The first integer of an abort may look like a version. It is an abort if the rank has checked in
// already: nobody does that twice. Pure; keeps nothing between calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "common/core/rank_set.h"
#include "pmi/protocol/job_facts.h"

namespace scela::pmi {

enum class Dialect : std::uint8_t { pmi1, pmgr, mvapich1 };

// A visitor that has said more without saying who it is says nothing. An abort's message is at most
// 256 bytes (peer: LLNL's client).
inline constexpr std::size_t kMaxGreeting = 4096;

namespace greeting {
struct Hello {
  Rank rank = 0;
  std::size_t used = 0;  // bytes; what follows is the session's
};
struct Abort {
  Rank rank = 0;
  std::int32_t code = 0;
  std::string message{};
};
struct Again {  // a rank that has checked in says hello once more
  Rank rank = 0;
};
struct Nonsense {
  std::string why;  // "sent ...", for the user
};
}  // namespace greeting

using Greeting =
    std::variant<greeting::Hello, greeting::Abort, greeting::Again, greeting::Nonsense>;

namespace greeting {
// Whose words these are. None: too little was said yet.
std::optional<std::variant<Rank, Nonsense>> speaker(Dialect dialect, std::string_view bytes,
                                                    bool ended, Rank size);
std::optional<Greeting> meaning(Dialect dialect, std::string_view bytes, bool ended, Rank rank,
                                bool checked_in);
}  // namespace greeting

// What somebody has said so far; none: too little. `ended`: no more comes, so that there is always
// a meaning. `size`: ranks of the job. `checked_in(rank)` is asked for ranks below that.
template <class CheckedIn>
std::optional<Greeting> read_greeting(Dialect dialect, std::string_view bytes, bool ended,
                                      Rank size, CheckedIn&& checked_in) {
  const auto who = greeting::speaker(dialect, bytes, ended, size);
  if (!who) return std::nullopt;
  if (const auto* nonsense = std::get_if<greeting::Nonsense>(&*who)) return *nonsense;
  const Rank rank = std::get<Rank>(*who);
  return greeting::meaning(dialect, bytes, ended, rank, checked_in(rank));
}

// What the client of PMI_PORT reads before it says init.
std::string initack_answer(const JobFacts& facts);

}  // namespace scela::pmi
