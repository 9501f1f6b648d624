// How a rank ended: every rank of a job gets exactly one Outcome, its verdict.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace scela::nla {

enum class Ending : std::uint8_t {
  exited,       // by itself; code is its exit status
  signaled,     // code is the signal, core_dumped tells about the core
  unfinished,   // exited with 0 between PMI init and finalize: its peers still wait for it
  not_started,  // code is errno of the start; why names the step
  aborted,      // asked for the end of the job (PMI abort); code is its exit code, why its message
  lost,         // its agent is gone; why says how that was noticed
  cancelled,    // never started: the job was ended first
  violated,     // broke the protocol it speaks to its agent; why says how
  refused,      // its node cannot hold as many ranks as it was given; code is errno, why the limit
  timed_out,    // its node's ranks ran for as long as Job::host_timeout_ms allows
};

struct Outcome {
  Ending ending = Ending::exited;
  std::int32_t code = 0;
  bool core_dumped = false;
  bool ended_by_us = false;  // after PROCESS_TERMINATE or a user's signal: not a cause of anything
  std::string why;

  // The rank itself asked for or forced the end of the whole job, or the job cannot be as it was
  // asked for; whatever the policy.
  bool ends_job() const {
    return ending == Ending::aborted || ending == Ending::violated || ending == Ending::refused;
  }
  bool success() const { return ending == Ending::exited && code == 0; }
  friend bool operator==(const Outcome&, const Outcome&) = default;
  friend auto operator<=>(const Outcome&, const Outcome&) = default;
};

// A rank's own message may be long; the cause is in its beginning.
inline constexpr std::size_t kMaxWhy = 512;
inline Outcome with_short_why(Outcome outcome) {
  if (outcome.why.size() > kMaxWhy) outcome.why.resize(kMaxWhy);
  return outcome;
}

}  // namespace scela::nla
