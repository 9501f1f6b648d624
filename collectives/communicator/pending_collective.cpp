#include "collectives/communicator/pending_collective.h"

#include <new>
#include <utility>

#include "collectives/communicator/call/recycling.h"
#include "common/core/text.h"

namespace scela::collectives {

namespace {

constexpr const char* kOfParent = "its process is the parent of this one (fork)";

}  // namespace

PendingCollective::PendingCollective(std::shared_ptr<Communicator::State> communicator,
                                     std::shared_ptr<const Collective::Inside> inside,
                                     bool is_persistent)
    : group_(std::move(communicator)), call_(std::move(inside)), persistent_(is_persistent) {
  // A refused call takes a tag as well: the other ranks count the operation, and so does this rank.
  const auto taken = persistent_ ? group_->keep_tag() : group_->next_tag();
  prepared_ = group_->prepare(*call_);
  if (taken) {
    tag_ = *taken;
    has_tag_ = true;
  } else {
    lacks_ = std::make_unique<const Status>(
        error_of(Code::resources, group_->rank,
                 cat(name_of_call(call_->operation, call_->has_parts), " by rank ", group_->rank,
                     ": this communicator has the maximum number of prepared operations; start "
                     "existing ones again, or duplicate the communicator (dup)")));
  }
}

void* PendingCollective::operator new(std::size_t) {
  return Recycled<sizeof(PendingCollective)>::take();
}

void PendingCollective::operator delete(void* memory) noexcept {
  Recycled<sizeof(PendingCollective)>::give_back(memory);
}

// In a child process (fork) the state belongs to the parent, and is not touched.
PendingCollective::~PendingCollective() {
  if (is_copy() || run_ == nullptr) return;
  if (stage_ == Stage::under_way && !run_->is_over()) {
    group_->engine->executor->cancel(
        *run_, {FaultCode::cancelled, group_->rank, "the request was destroyed"});
    group_->engine->executor->wait(*run_);
  }
  group_->engine->pool.give_back(*run_);
}

Status PendingCollective::misuse(Code code, const std::string& why) const {
  return error_of(
      code, group_->rank,
      cat(name_of_call(call_->operation, call_->has_parts), " by rank ", group_->rank, ": ", why));
}

Status PendingCollective::start() {
  if (!persistent_)
    return misuse(Code::bad_request, "only an operation that was prepared can be started again");
  if (stage_ == Stage::under_way)
    return misuse(is_copy() ? Code::closed : Code::bad_request,
                  "it was started twice: wait for it before it is started again");
  begin(Caller::goes_on);
  return result_;
}

Status PendingCollective::why_not_begin() const {
  if (is_copy()) return misuse(Code::closed, kOfParent);
  if (group_->is_freed)
    return misuse(Code::bad_communicator,
                  "its communicator was freed: nothing more is started by it");
  return {};
}

// The other ranks wait for this rank even if it cannot do the operation. It then goes through its
// list with notes. If no rank can know its list, all operations of the communicator end.
bool PendingCollective::begin(Caller caller) {
  result_ = why_not_begin();
  if (result_.ok()) {
    number_ = group_->begun++;
    try {
      begin_run(caller);
    } catch (const std::bad_alloc&) {
      result_ = group_->has_no_memory_for(name_of(call_->operation), number_);
    }
  }
  stage_ = result_.ok() ? Stage::under_way : Stage::complete;
  return result_.ok();
}

void PendingCollective::begin_run(Caller caller) {
  if (has_tag_ && lacks_) lacks_.reset();
  if (refused_) refused_.reset();
  if (!own().ok()) {
    const bool tells = has_tag_ && (prepared_->made != nullptr || prepared_->checked != nullptr);
    refuse();
    if (!tells) {
      if (has_tag_ && group_->ranks.size() > 1) give_up();
      result_ = own();
      return;
    }
  }
  if (run_ == nullptr) run_ = &group_->engine->pool.take();
  if (auto bound = bind(); !bound) {
    lacks_ = std::make_unique<const Status>(
        error_of(Code::resources, group_->rank,
                 cat(describe(), " by rank ", group_->rank, ": ", bound.error().text())));
    refuse();
    if (bound = bind(); !bound) throw std::bad_alloc();
  }
  group_->start(*run_, caller == Caller::waits);
  if (run_->is_over()) group_->note_exhaustion(*prepared_, *call_, *run_);
}

void PendingCollective::give_up() {
  AbortedContext what;
  what.context = group_->context;
  what.rank = group_->ranks[static_cast<std::size_t>(group_->rank)];
  what.refusal = prepared_->refusal;
  group_->engine->executor->contexts().give_up(what, group_->ranks);
}

void PendingCollective::refuse() {
  Fault fault;
  fault.code = own().code() == Code::resources ? FaultCode::resources : FaultCode::mismatch;
  fault.rank = group_->rank;
  fault.words = own().message();
  fault.refusal = prepared_->refusal;
  refused_ = std::make_shared<const Fault>(std::move(fault));
}

Result<void> PendingCollective::bind() {
  Call bound = group_->call_of(*prepared_, *call_, tag_, number_);
  bound.refused = refused_;
  return run_->bind(std::move(bound));
}

bool PendingCollective::test() {
  if (stage_ != Stage::under_way || is_copy()) return true;
  if (!group_->engine->executor->test(*run_)) return false;
  end();
  return true;
}

Status PendingCollective::wait(Timeout timeout) {
  if (is_copy()) {
    stage_ = Stage::was_waited_for;
    return misuse(Code::closed, kOfParent);
  }
  switch (stage_) {
    case Stage::ready:
      return misuse(Code::bad_request,
                    "wait for a persistent request that was not started (start it first)");
    case Stage::under_way:
      if (!group_->engine->executor->wait(*run_, timeout))
        return error_of(Code::timed_out, -1,
                        cat(describe(), ": not complete within the timeout; it continues"));
      end();
      break;
    case Stage::complete:
    case Stage::was_waited_for:
      break;
  }
  stage_ = Stage::was_waited_for;
  return result_;
}

const Status& PendingCollective::status() {
  if (stage_ == Stage::under_way && !is_copy() && run_->is_over()) end();
  return result_;
}

// The steps that need memory come first: if there is none, the operation can be ended again.
void PendingCollective::end() {
  group_->note_exhaustion(*prepared_, *call_, *run_);
  if (!own().ok())
    result_ = own();
  else if (run_->error() != nullptr)
    result_ = group_->error_of_run(*prepared_, *call_, *run_);
  stage_ = Stage::complete;
  if (persistent_) return;
  group_->engine->pool.give_back(*run_);
  run_ = nullptr;
}

std::string PendingCollective::describe() const {
  return words_of(*prepared_, *call_);
}

// In a child process (fork) nothing moves any more, and wait() says why.
bool PendingCollective::is_over() const {
  if (stage_ != Stage::under_way) return stage_ == Stage::complete;
  return is_copy() || run_->is_over();
}

channel::RequestMover* PendingCollective::mover() const {
  return stage_ == Stage::under_way && !is_copy() ? group_->engine.get() : nullptr;
}

}  // namespace scela::collectives
