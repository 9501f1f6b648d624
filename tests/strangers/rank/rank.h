// One rank that carries out its part of a plan, over the public interface alone.
//
// No step waits for what comes later in the plan, at any rank. One thread uses a Rank.
#pragma once

#include <chrono>
#include <memory>

#include "tests/strangers/rank/operations.h"
#include "tests/strangers/rank/rank_messages.h"
#include "tests/strangers/rank/waits.h"

namespace strangers {

class Rank {
 public:
  Rank(std::unique_ptr<scela::Channel> channel, const Plan& plan, std::chrono::seconds patience);
  // Returns the exit status of a rank that has come to the plan's end or leaves before it. A rank
  // that finds something wrong says what, and ends the process.
  int play();

 private:
  void carry_out(const Scene& scene);
  int end_by(Ending ending);

  Situation situation_;
  Mailbox mailbox_;
  Communicators communicators_;
  Requests requests_;  // after the communicators: they go first
  Waits waits_;
  Messages messages_;
  Operations operations_;
};

}  // namespace strangers
