// Templates of lists that were posted before (task templates: offload thesis, section 4.3). A
// template has a list's tasks and how far they reach into memory, computed once for each list and
// layout. Offload groups use it.
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
  // The list and layout of the template. The template keeps the list alive; its communicator may
  // keep it longer.
  std::shared_ptr<const Plan> list;
  std::uint64_t layout_number = 0;  // as in Call
  Layout layout;
  OffloadPlan plan;
  std::array<std::uint64_t, 4> ends{};  // by OffloadPlace::Memory: bytes

  // Returns true if a run has this list and an equal layout.
  bool is_of(const Run& run) const;
};

// The templates of one communicator that were used last. Two threads must not use it at once.
class OffloadTemplates {
 public:
  // Returns the template of a run that is bound. Allocates memory only if there is no template yet.
  std::shared_ptr<const OffloadTemplate> of(const Run& run);

 private:
  // The number of tasks of all kept templates is limited, because long lists have many.
  static constexpr std::size_t kMaxTasks = 1 << 16;
  static constexpr std::size_t kMax = 64;

  std::vector<std::shared_ptr<const OffloadTemplate>> kept_;  // the one used last comes first
  std::size_t tasks_ = 0;
};

}  // namespace scela::collectives
