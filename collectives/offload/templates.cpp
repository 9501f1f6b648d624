#include "collectives/offload/templates.h"

#include <algorithm>

namespace scela::collectives {

namespace {

std::shared_ptr<const OffloadTemplate> made_of(const Run& run) {
  auto made = std::make_shared<OffloadTemplate>();
  made->list = run.call().plan;
  made->layout_number = run.call().layout_number;
  made->layout = run.layout();
  made->plan = plan_offload(made->list->list(), made->layout);
  for (const OffloadTask& task : made->plan.tasks) {
    for (const OffloadPlace* const place : {&task.from, &task.to}) {
      if (place->bytes == 0) continue;
      std::uint64_t& end = made->ends[static_cast<std::size_t>(place->memory)];
      end = std::max(end, place->offset + place->bytes);
    }
  }
  return made;
}

bool is_same(const BlockSizes& one, const BlockSizes& other) {
  if (one.count() != other.count() || one.end() != other.end()) return false;
  for (std::uint32_t block = 0; block < one.count(); ++block)
    if (one.offset(block) != other.offset(block) || one.size(block) != other.size(block))
      return false;
  return true;
}

bool is_same(const Layout& one, const Layout& other) {
  return std::ranges::equal(one.spaces, other.spaces,
                            [](const auto& a, const auto& b) { return is_same(a, b); });
}

}  // namespace

bool OffloadTemplate::is_of(const Run& run) const {
  const Call& call = run.call();
  if (list != call.plan) return false;
  return (layout_number != 0 && layout_number == call.layout_number) ||
         is_same(layout, run.layout());
}

std::shared_ptr<const OffloadTemplate> OffloadTemplates::of(const Run& run) {
  const auto known = std::ranges::find_if(kept_, [&](const auto& one) { return one->is_of(run); });
  if (known != kept_.end()) {
    std::rotate(kept_.begin(), known, known + 1);
    return kept_.front();
  }
  auto made = made_of(run);
  tasks_ += made->plan.tasks.size();
  kept_.insert(kept_.begin(), made);
  while (kept_.size() > kMax || (tasks_ > kMaxTasks && kept_.size() > 1)) {
    tasks_ -= kept_.back()->plan.tasks.size();
    kept_.pop_back();
  }
  return made;
}

}  // namespace scela::collectives
