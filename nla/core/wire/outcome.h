// How a rank ended. Every rank of a job gets exactly one Outcome, its verdict, from the agent of
// its node or from an agent above that. Values, for any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace scela::nla {

// The ways in which a rank ends. `code` and `why` are members of Outcome.
enum class Ending : std::uint8_t {
  // The rank exited by itself; code is its exit status.
  exited,
  // A signal ended it; code is the signal's number.
  signaled,
  // It exited with 0 between PMI init and finalize, and its peers still wait for it.
  unfinished,
  // Its process could not be started. code is the errno, why names the step that failed.
  not_started,
  // It asked for the end of the job (PMI abort). code is its exit code, why its message.
  aborted,
  // Its agent is gone; why says how that was noticed.
  lost,
  // It was not started: the job or its world was ended before its turn.
  cancelled,
  // It broke the protocol with its agent; why says how.
  violated,
  // Its node cannot hold as many ranks as it was given. code is the errno, why the limit.
  refused,
  // Its node's ranks ran for as long as Job::host_timeout_ms allows.
  timed_out,
};

// The verdict of one rank.
struct Outcome {
  Ending ending = Ending::exited;
  // Its meaning depends on `ending`; otherwise 0.
  std::int32_t code = 0;
  bool core_dumped = false;
  // The rank ended after the order to end the job or its world was given, so its end is no failure.
  bool ended_by_us = false;
  // A reason to print; may be empty.
  std::string why;

  // Returns true if the whole job ends because of this outcome, under any policy. The rank has
  // asked for that or forced it, or the job cannot be as it was asked for.
  bool ends_job() const {
    return ending == Ending::aborted || ending == Ending::violated || ending == Ending::refused;
  }
  // Returns true if the rank exited with status 0.
  bool success() const { return ending == Ending::exited && code == 0; }
  friend bool operator==(const Outcome&, const Outcome&) = default;
  friend auto operator<=>(const Outcome&, const Outcome&) = default;
};

// The most bytes of `why` that travel. A rank's own message may be long, but its beginning names
// the cause.
inline constexpr std::size_t kMaxWhy = 512;
// Returns the outcome with `why` cut to kMaxWhy bytes.
inline Outcome with_short_why(Outcome outcome) {
  if (outcome.why.size() > kMaxWhy) outcome.why.resize(kMaxWhy);
  return outcome;
}

}  // namespace scela::nla
