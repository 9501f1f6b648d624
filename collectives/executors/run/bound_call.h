// A BoundCall is the call that a run is bound to, and all that is computed once for it: the plan in
// use, the buffers, and the steps of a short run. If the call has a prelude, the plan and the
// buffers in use are the prelude's until it ends. A Run has one; its messages and its fast path
// read it. One thread at a time uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/executors/run/call.h"
#include "collectives/executors/run/fast_steps.h"
#include "collectives/executors/run/run_buffers.h"
#include "common/core/result.h"

namespace scela::collectives {

// Returns the error of a call that cannot be started; `why` is its text.
Error refused_call(std::string why);

// A BoundCall is empty until bind(). "Fits" means that the call has all that its plan and layout
// need.
class BoundCall {
 public:
  // Returns true if the call has the plan and layout of the last bind(), and all that they need. If
  // it returns false, check() must decide. A quick test for calls that are repeated.
  bool fits_as_before(const Call& call) const;
  // Returns an error if the call lacks something that its plan needs: blocks, buffers, a reduction,
  // or ranks.
  static Result<void> check(const Call& call);
  // Takes a call that check() or fits_as_before() accepts, and reserves its memory, unless an
  // earlier call had as much. Throws std::bad_alloc; then forget_fit() must be called.
  void bind(Call&& call);
  // Takes other buffers, another route and another number (Call::number) for a short run that
  // bind() has bound. All else stays.
  void bind_again(const std::byte* input, std::byte* output, Route route, std::uint64_t number);
  // Forgets that the plan of the last bind() fits, so that the next bind() prepares it anew.
  void forget_fit() {
    fitted_ = nullptr;
    fast_steps_.clear();
  }
  // Drops the owners of the plan and of the refusal, at the run's end. The rest of call() stays.
  void release() {
    plan_ = nullptr;
    call_.plan.reset();
    call_.refused.reset();
  }

  // Returns the plan in use, the call's or the prelude's; null if no call is bound or the run is
  // over.
  const Plan* plan() const { return plan_; }
  const Call& call() const { return call_; }
  // Returns the buffers in use, the call's or the prelude's.
  const RunBuffers& buffers() const { return buffers_; }
  RunBuffers& buffers() { return buffers_; }
  // Returns the call's fast steps; they are empty if the run is not short.
  const std::vector<FastStep>& fast_steps() const { return fast_steps_; }

  // Returns the prelude (call.h) that is in use, or null.
  const Prelude* prelude() const { return prelude_; }
  // Makes the prelude's plan, layout and buffers those in use. Throws std::bad_alloc; the run must
  // then end.
  void begin_prelude(const Prelude& prelude);
  // Makes the call's plan and buffers those in use. Returns false if the call has no plan; then
  // nothing changes.
  bool end_prelude();

  // Returns the transport's number of a rank of the list.
  int peer_of(int rank) const {
    return call_.peers.empty() ? rank : call_.peers[static_cast<std::size_t>(rank)];
  }
  // Returns the list's number of a rank of the transport, or -1 if the rank takes no part. There
  // must be a plan.
  int place_of(int rank) const;
  // Sets `peers` to all ranks of the call, as the transport numbers them. There must be a plan.
  void list_peers(std::vector<int>& peers) const;

 private:
  // Computes what the call's plan and layout need, unless that is known: offsets, scratch, staging
  // memory, fast steps. `knows_layout` says that the buffers have this layout already. Throws
  // std::bad_alloc.
  void prepare(bool knows_layout);

  Call call_;
  const Plan* plan_ = nullptr;        // in use: the prelude's or call's
  const Prelude* prelude_ = nullptr;  // null once the prelude is over
  RunBuffers buffers_;                // in use now
  RunBuffers other_buffers_;          // the call's, during its prelude
  std::uint64_t layout_number_ = 0;   // of buffers_; 0: no number
  const Plan* fitted_ = nullptr;      // last plan that fitted; only compared
  std::vector<FastStep> fast_steps_;  // of that plan and layout
};

}  // namespace scela::collectives
