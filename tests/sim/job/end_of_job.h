// The reasons for which the job must end before its ranks do, and since when it must.
// One thread uses it.
#pragma once

#include <algorithm>
#include <optional>

#include "tests/sim/sim_job_run.h"

namespace scela::sim {

class EndOfJob {
 public:
  explicit EndOfJob(const Run& run) : run_(run) {}

  // Returns true if the end is inevitable.
  bool due() const { return since_ != 0; }
  // The time since which it is; 0 if it is not.
  Micros since() const { return since_; }
  // The end is inevitable from now on, if it was not before.
  void begin() {
    if (since_ == 0) since_ = std::max<Micros>(run_.now, 1);
  }
  // The rank asks for the end, and nothing else is known to have.
  void begin_for(Rank rank) {
    begin();
    asked_by_ = rank;
  }
  // Returns the rank that asked for it, if nothing else is known to have.
  std::optional<Rank> asked_by() const { return asked_by_; }
  // The rank that asked was lost, perhaps before any agent heard it.
  void withdraw() { since_ = 0; }

  // event::Stop was given to the root.
  void stop() {
    stopped_ = true;
    begin();
  }
  bool stopped() const { return stopped_; }
  // The user's signal was forwarded to the ranks, which may end by it.
  void forward_signal() { signalled_ = true; }
  bool signalled() const { return signalled_; }
  // Some agent has waited in vain for the end of a child, and gives it up.
  void give_up() { gave_up_ = true; }
  bool gave_up() const { return gave_up_; }

 private:
  const Run& run_;
  Micros since_ = 0;
  std::optional<Rank> asked_by_;
  bool stopped_ = false;
  bool signalled_ = false;
  bool gave_up_ = false;
};

}  // namespace scela::sim
