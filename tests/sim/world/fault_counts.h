// How many schedules had which kind of fault: for the summary of a long run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/sim/sim_schedule.h"

namespace scela::sim {

class FaultCounts {
 public:
  void add(const Schedule& schedule);
  // One line for each kind that occurred: what it is, how many schedules had it, how many of it
  // there were in all.
  std::string text() const;
  std::uint64_t faulty() const { return faulty_; }

 private:
  struct Count {
    std::uint64_t schedules = 0;
    std::uint64_t all = 0;
  };
  std::map<std::string, Count> kinds_;
  std::uint64_t schedules_ = 0;
  std::uint64_t faulty_ = 0;
};

}  // namespace scela::sim
