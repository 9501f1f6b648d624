#include "collectives/executors/run/bound_call.h"

#include <algorithm>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

Error refused_call(std::string why) {
  return {ErrorKind::usage, "start a collective operation", "", std::move(why), ""};
}

// Returns true if a call with this plan and layout has fitted, and this call has all that it had.
bool BoundCall::fits_as_before(const Call& call) const {
  if (fitted_ == nullptr || call.plan.get() != fitted_ || call.layout_number == 0 ||
      call.layout_number != layout_number_ || call.refused)
    return false;
  const auto& blocks = fitted_->list().blocks;
  return (blocks[0] == 0 || call.input != nullptr) && (blocks[1] == 0 || call.output != nullptr) &&
         (call.reduction.combine != nullptr || !fitted_->reduces()) &&
         (call.peers.empty() || call.peers.size() >= static_cast<std::size_t>(fitted_->ranks()));
}

Result<void> BoundCall::check(const Call& call) {
  const bool only_prelude = call.prelude != nullptr && call.refused && !call.plan;
  if (only_prelude) return {};
  if (!call.plan || call.layout == nullptr)
    return fail(refused_call("it has no plan or no layout"));
  const TaskList& list = call.plan->list();
  const void* const addresses[] = {call.input, call.output, call.scratch};
  for (const Space space : {Space::input, Space::output, Space::scratch}) {
    const auto index = static_cast<std::size_t>(space);
    const BlockSizes& sizes = call.layout->of(space);
    if (sizes.count() < list.blocks[index])
      return fail(refused_call(cat("the ", name_of(space), " has ", sizes.count(), " blocks, and ",
                                   list.blocks[index], " are needed")));
    if (!call.refused && space != Space::scratch && list.blocks[index] != 0 &&
        addresses[index] == nullptr && sizes.end() != 0)
      return fail(refused_call(
          cat("the ", name_of(space), " is null, and should have ", sizes.end(), " bytes")));
  }
  if (!call.refused && call.plan->reduces() && call.reduction.combine == nullptr)
    return fail(refused_call("it reduces, and no reduction was given"));
  if (!call.peers.empty() && call.peers.size() < static_cast<std::size_t>(call.plan->ranks()))
    return fail(refused_call(cat("it speaks with rank ", call.plan->ranks() - 1, ", and there are ",
                                 call.peers.size(), " ranks")));
  return {};
}

void BoundCall::bind(Call&& call) {
  const bool knows_layout = call.layout_number != 0 && call.layout_number == layout_number_;
  if (prelude_ != nullptr) std::swap(buffers_, other_buffers_);  // the last run ended in it
  prelude_ = nullptr;
  call_ = std::move(call);
  if (call_.plan) prepare(knows_layout);
  plan_ = call_.plan.get();
  if (call_.prelude == nullptr) return;
  std::swap(buffers_, other_buffers_);
  layout_number_ = 0;
  begin_prelude(*call_.prelude);
}

void BoundCall::prepare(bool knows_layout) {
  const Plan& plan = *call_.plan;
  const bool is_known = knows_layout && fitted_ == &plan;
  if (!is_known) {
    fitted_ = nullptr;
    fast_steps_.clear();
  }
  if (!knows_layout) {
    layout_number_ = 0;
    buffers_.set_layout(*call_.layout);
    layout_number_ = call_.layout_number;
  }
  std::byte* scratch = call_.scratch;
  if (scratch == nullptr && plan.list().blocks[2] != 0 && !call_.refused)
    scratch = buffers_.own_scratch();
  buffers_.set_input_and_output(call_.input, call_.output);
  buffers_.set_scratch(scratch);
  buffers_.reset_staging();
  if (!is_known) compile_fast_steps(plan, buffers_, fast_steps_);
  if (fast_steps_.empty() && !call_.refused) buffers_.reserve_staging(plan);
  fitted_ = &plan;  // only now is all of it reserved
}

void BoundCall::bind_again(const std::byte* input, std::byte* output, Route route,
                           std::uint64_t number) {
  plan_ = fitted_;
  call_.plan = std::shared_ptr<const Plan>(std::shared_ptr<const void>(), fitted_);
  call_.input = input;
  call_.output = output;
  call_.route = route;
  call_.number = number;
  buffers_.set_input_and_output(input, output);
}

void BoundCall::begin_prelude(const Prelude& prelude) {
  buffers_.set_layout(*prelude.layout);
  std::byte* const scratch = buffers_.own_scratch();
  buffers_.set_input_and_output(nullptr, prelude.records);
  buffers_.set_scratch(scratch);
  prelude_ = &prelude;
  plan_ = prelude.plan.get();
}

bool BoundCall::end_prelude() {
  if (!call_.plan) return false;
  prelude_ = nullptr;
  plan_ = call_.plan.get();
  std::swap(buffers_, other_buffers_);
  return true;
}

int BoundCall::place_of(int rank) const {
  if (call_.peers.empty()) return rank < plan_->ranks() ? rank : -1;
  const auto found = std::ranges::find(call_.peers, rank);
  return found == call_.peers.end() ? -1 : static_cast<int>(found - call_.peers.begin());
}

void BoundCall::list_peers(std::vector<int>& peers) const {
  peers.assign(call_.peers.begin(), call_.peers.end());
  for (int rank = 0; call_.peers.empty() && rank < plan_->ranks(); ++rank)
    peers.push_back(rank);
}

}  // namespace scela::collectives
