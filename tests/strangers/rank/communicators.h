// The communicators that a rank is a member of, by their numbers in the plan.
// One thread uses this part.
#pragma once

#include <map>
#include <utility>

#include <scela/communicator.h>

#include "tests/strangers/contents.h"

namespace strangers {

struct Member {
  scela::Communicator communicator;
  int family = 0;  // of communicators: one executor moves their operations
  scela::ProgressMode by = scela::ProgressMode::polled;
};

class Communicators {
 public:
  // Requires that the rank is a member of it.
  Member& at(int number) { return members_.at(number); }
  void add(int number, Member made) { members_.emplace(number, std::move(made)); }
  // The rank lets go of a communicator, if it is a member. It frees three of four by a call, as
  // `drawn` says.
  void drop(int number, std::uint64_t drawn) {
    const auto found = members_.find(number);
    if (found == members_.end()) return;
    if (drawn % 4 != 0) found->second.communicator.free();
    members_.erase(found);
  }
  // Lets go of all, and frees about half of them by a call.
  void drop_all() {
    for (auto& [number, member] : members_)
      if (mix(static_cast<std::uint64_t>(number)) % 2 == 0) member.communicator.free();
    members_.clear();
  }
  // Lets go of all without a call.
  void clear() { members_.clear(); }

 private:
  std::map<int, Member> members_;
};

}  // namespace strangers
