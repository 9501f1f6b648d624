#include "tests/sim/rank/traces.h"

#include <algorithm>

#include "common/core/text.h"
#include "tests/sim/generator/payload.h"

namespace scela::sim {

namespace action = nla::action;
namespace event = nla::event;

void Traces::on(std::uint32_t index, const action::TracePiece& action) {
  if (index != 0) return run_.fail(nodes_.name(index) + " shows a trace");
  Arrival& arrival = traces_[action.node];
  if (arrival == Arrival::whole)
    return run_.fail(cat("node ", action.node, ": trace after its end"));
  arrival = action.last ? Arrival::whole : Arrival::part;
}

void Traces::on(std::uint32_t index, const action::Finishing&) {
  if (finishing_[index]) return run_.fail(nodes_.name(index) + " is finishing twice");
  finishing_[index] = true;
  run_.after(run_.random.below(200), TaskKind::measure, index);
}

void Traces::measure(std::uint32_t index) {
  if (run_.schedule.trace) {
    for (std::uint64_t piece = run_.random.below(3) + 1; piece > 0; --piece) {
      agents_.give(index,
                   event::SendTrace{piece == 1, payload(index, 1 + run_.random.below(5000))});
    }
  }
  agents_.give(index, event::Measured{0, 1000 + index, 2000});
}

std::uint64_t Traces::complete() const {
  return static_cast<std::uint64_t>(
      std::count_if(traces_.begin(), traces_.end(),
                    [](const auto& entry) { return entry.second == Arrival::whole; }));
}

}  // namespace scela::sim
