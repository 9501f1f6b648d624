// How a rank ended. Every rank of a job gets exactly one Outcome, its verdict. Values, for any
// thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace scela::nla {

enum class Ending : std::uint8_t {
  exited,    // by itself; code is its exit status
  signaled,  // code is the signal
  // It exited with 0 between PMI init and finalize, and its peers still wait for it.
  unfinished,
  not_started,  // code is the errno, why names the step
  // It asked for the end of the job (PMI abort). code is its exit code, why its message.
  aborted,
  lost,  // its agent is gone; why says how it shows
  // It was not started: the job or its world was ended before its turn.
  cancelled,
  // It broke the protocol that it speaks to its agent; why says how.
  violated,
  // Its node cannot hold as many ranks as it was given. code is the errno, why the limit.
  refused,
  // Its node's ranks ran for as long as Job::host_timeout_ms allows.
  timed_out,
};

struct Outcome {
  Ending ending = Ending::exited;
  std::int32_t code = 0;
  bool core_dumped = false;
  // It ended after PROCESS_TERMINATE or a user's signal, so it is the cause of nothing.
  bool ended_by_us = false;
  std::string why;

  // Returns true if the rank asked for or forced the end of the whole job, or if the job cannot be
  // as it was asked for. The job then ends under any policy.
  bool ends_job() const {
    return ending == Ending::aborted || ending == Ending::violated || ending == Ending::refused;
  }
  bool success() const { return ending == Ending::exited && code == 0; }
  friend bool operator==(const Outcome&, const Outcome&) = default;
  friend auto operator<=>(const Outcome&, const Outcome&) = default;
};

// The most bytes of `why` that travel. A rank's own message may be long, but its beginning names
// the cause.
inline constexpr std::size_t kMaxWhy = 512;
inline Outcome with_short_why(Outcome outcome) {
  if (outcome.why.size() > kMaxWhy) outcome.why.resize(kMaxWhy);
  return outcome;
}

}  // namespace scela::nla
