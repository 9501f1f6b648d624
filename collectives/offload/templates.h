// Templates of lists that were posted before (task templates: offload thesis, section 4.3). A
// template has a list's OffloadPlan (collectives/core/offload.h) and the bytes of memory that it
// uses, computed once for each list and layout. Offload groups use it. Two threads must not use it
// at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/core/offload.h"
#include "collectives/executors/factory.h"

namespace scela::collectives {

// The template of one list with one layout. It does not change once it is made.
struct OffloadTemplate {
  // The list for which it was made, which it keeps alive unless its communicator does.
  std::shared_ptr<const Plan> list;
  std::uint64_t layout_number = 0;  // Call::layout_number; 0: unknown
  Layout layout;
  OffloadPlan plan;
  std::array<std::uint64_t, 4> ends{};  // by Memory: bytes that the plan uses

  // Returns true if a run that is bound has this list and an equal layout.
  bool is_of(const Run& run) const;
};

// The templates of one communicator that were used last. Two threads must not use it at once.
class OffloadTemplates {
 public:
  // Returns the template of a run that is bound, and makes it if there is none. Only that allocates
  // memory. Templates that were not used for long may be dropped, but those in use stay valid.
  std::shared_ptr<const OffloadTemplate> of(const Run& run);

 private:
  // The number of tasks of all kept templates is limited, because long lists have many.
  static constexpr std::size_t kMaxTasks = 1 << 16;
  static constexpr std::size_t kMax = 64;

  std::vector<std::shared_ptr<const OffloadTemplate>> kept_;  // the one used last comes first
  std::size_t tasks_ = 0;
};

}  // namespace scela::collectives
