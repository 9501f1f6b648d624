// The operations of a rank: it makes communicators, carries out its share of the operations on
// them, and judges their results. One thread uses this part.
#pragma once

#include <vector>

#include "tests/strangers/rank/communicators.h"
#include "tests/strangers/rank/rank_requests.h"
#include "tests/strangers/share.h"

namespace strangers {

class Operations {
 public:
  Operations(Situation& situation, Communicators& communicators, Requests& requests)
      : situation_(situation), communicators_(communicators), requests_(requests) {}

  // The steps that make a communicator.
  void make(const Scene& scene);
  // The steps free, collective and agree.
  void free(const Scene& scene);
  void collective(const Scene& scene);
  void agree(const Scene& scene);
  // The step recover: frees the communicators that ranks which have ended were in.
  void recover(const Scene& scene);

 private:
  // Makes a communicator from one that there is. Returns none if this rank is not to be in it.
  scela::Communicator make_from(scela::Communicator& from, const Scene& scene) const;
  // Returns the places in its communicator that a step subgroup names and that there are.
  std::vector<int> members_of_subgroup(const Scene& scene) const;
  // Carries out a persistent operation, as often as the step says.
  void repeat(Begun& begun, Share& share);
  void judge(const Scene& scene, const Share& share, const scela::Status& status) const;

  Situation& situation_;
  Communicators& communicators_;
  Requests& requests_;
};

}  // namespace strangers
