// The part of Communicator::State that makes runs of calls: how a run is bound, how its failure is
// reported, and blocking calls of known forms.
#include <utility>

#include "collectives/communicator/group.h"
#include "common/core/text.h"

namespace scela {

using namespace collectives;

namespace {

// The most bytes of scratch of a run that is kept for a form of calls. A larger value would speed
// up more calls, and hold more memory.
constexpr std::uint64_t kMaxScratch = 1U << 20;

Code code_of(FaultCode code) {
  switch (code) {
    case FaultCode::peer_ended:
      return Code::peer_ended;
    case FaultCode::resources:
      return Code::resources;
    case FaultCode::mismatch:
      return Code::mismatch;
    case FaultCode::cancelled:
      return Code::cancelled;
    case FaultCode::other:
      break;
  }
  return Code::other;
}

}  // namespace

std::string collectives::words_of(const PreparedCall& prepared, const Collective::Inside& call) {
  if (prepared.made == nullptr) return name_of_call(call.operation, call.has_parts);
  return cat(name_of_call(call.operation, call.has_parts), " by ", prepared.made->algorithm->name);
}

Call Communicator::State::call_of(const PreparedCall& prepared, const Collective::Inside& call,
                                  std::uint32_t tag, std::uint64_t number) const {
  Call bound;
  // The communicator keeps the plan alive, because counting its owners would cost more than a
  // message.
  if (prepared.made != nullptr)
    bound.plan =
        std::shared_ptr<const Plan>(std::shared_ptr<const void>(), prepared.made->plan.get());
  bound.layout = prepared.layout.get();
  bound.layout_number = prepared.layout_number;
  bound.input = call.input.data();
  bound.output = call.output.data();
  bound.reduction = prepared.reduction;
  const bool is_kept = tag >= engine->tags / 2;
  bound.route = {context, is_kept ? tag : prepared.first_tag + tag};
  bound.number = number;
  bound.kind = prepared.kind;
  bound.rank = rank;
  bound.peers = ranks;
  if (prepared.checked) bound.prelude = prepared.checked->prelude();
  return bound;
}

Status Communicator::State::error_of_run(const PreparedCall& prepared,
                                         const Collective::Inside& call, const Run& run) const {
  const RunError* const failed = run.error();
  if (failed == nullptr) return {};
  const Fault& fault = failed->fault;
  const bool has_ended = fault.code == FaultCode::peer_ended && fault.rank >= 0;
  return error_of(
      code_of(fault.code), fault.rank,
      cat(words_of(prepared, call), " of ", ranks.size(), " ranks, on rank ", rank, ": ",
          failed->text(),
          has_ended
              ? cat("; rank ", fault.rank, " is rank ", ranks[static_cast<std::size_t>(fault.rank)],
                    " of the job; shrink() returns a communicator of the ranks that are left")
              : std::string()));
}

void Communicator::State::note_exhaustion(const PreparedCall& prepared,
                                          const Collective::Inside& call, const Run& run) {
  const RunError* const failed = run.error();
  if (failed == nullptr || !exhausted.ok()) return;
  const Fault& fault = failed->fault;
  if (fault.refusal == Refusal::memory && fault.rank == rank)
    exhausted = error_of_run(prepared, call, run);
}

std::optional<Status> Communicator::State::run_known(const Collective::Inside& call) {
  if (engine->checks || is_freed || !has_signature(call)) return std::nullopt;
  CachedCall* const known = call_cache_.find(CallSignature(call), call.algorithm);
  if (known == nullptr || known->is_long) return std::nullopt;
  if (known->run == nullptr) {
    known->is_long = known->prepared->layout->of(Space::scratch).end() > kMaxScratch;
    if (known->is_long) return std::nullopt;
    RunPool::Kept run = engine->short_runs.keep();
    known->is_long = !run->bind(call_of(*known->prepared, call, 0, 0)) || !run->is_short();
    if (known->is_long) return std::nullopt;
    known->run = std::move(run);
  }
  Run& run = *known->run;
  const Route route{context, known->prepared->first_tag + next_tag()};
  run.bind_again(call.input.data(), call.output.data(), route, begun++);
  start(run, true);
  note_exhaustion(*known->prepared, call, run);
  return error_of_run(*known->prepared, call, run);
}

}  // namespace scela
