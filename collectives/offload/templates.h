// Lists that were posted before (task templates: offload thesis, section 4.3): their tasks, and how
// far these reach into memory, are found out once for each list and layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/core/offload.h"
#include "collectives/executors/factory.h"

namespace scela::collectives {

struct OffloadTemplate {
  // Which list and layout it is of. The list stays as long as this (its communicator may keep it).
  std::shared_ptr<const Plan> list;
  std::uint64_t layout_number = 0;  // as in Call
  Layout layout;
  OffloadPlan plan;
  std::array<std::uint64_t, 4> ends{};  // by OffloadPlace::Memory: bytes

  bool is_of(const Run& run) const;
};

// The last few of one communicator. Not for two threads at once.
class OffloadTemplates {
 public:
  // Of a run that is bound. Allocates only where it is not known.
  std::shared_ptr<const OffloadTemplate> of(const Run& run);

 private:
  // Of all that are kept: long lists have many.
  static constexpr std::size_t kMostTasks = 1 << 16;
  static constexpr std::size_t kMost = 64;

  std::vector<std::shared_ptr<const OffloadTemplate>> kept_;  // the one that was used last first
  std::size_t tasks_ = 0;
};

}  // namespace scela::collectives
