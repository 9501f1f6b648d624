#include "collectives/communicator/request.h"

#include <new>
#include <utility>

#include "collectives/communicator/recycling.h"
#include "common/core/text.h"

namespace scela {

using namespace collectives;

namespace {

constexpr const char* kOfParent = "its process is the parent of this one (fork)";

CollectiveError of_nothing() {
  return error_of(CollectiveCode::misuse, -1,
                  "a request of nothing cannot be waited for or started: it was moved from, or "
                  "never had an operation");
}

}  // namespace

CollectiveRequest::State::State(std::shared_ptr<Communicator::State> communicator,
                                std::shared_ptr<const Collective::Inside> inside,
                                bool is_persistent)
    : group(std::move(communicator)), call(std::move(inside)), persistent(is_persistent) {
  // A refused call takes a tag as well: the other ranks count the operation, and so does this rank.
  const auto taken = persistent ? group->keep_tag() : group->next_tag();
  prepared = group->prepare(*call);
  if (taken) {
    tag = *taken;
    has_tag = true;
  } else {
    lacks = error_of(CollectiveCode::resources, group->rank,
                     cat(name_of(call->operation), " by rank ", group->rank,
                         ": too many operations of this communicator were prepared: start those "
                         "that there are again, or take another communicator (dup)"));
  }
}

void* CollectiveRequest::State::operator new(std::size_t) {
  return Recycled<sizeof(State)>::take();
}

void CollectiveRequest::State::operator delete(void* memory) noexcept {
  Recycled<sizeof(State)>::give_back(memory);
}

// In a child process (fork) the state belongs to the parent, and is not touched.
CollectiveRequest::State::~State() {
  if (is_copy()) return;
  if (run != nullptr) {
    if (stage == Stage::under_way && !run->is_over()) {
      group->engine->executor->cancel(
          *run, {FaultCode::cancelled, group->rank, "the request was destroyed"});
      group->engine->executor->wait(*run);
    }
    group->engine->pool.give_back(*run);
  }
}

CollectiveError CollectiveRequest::State::misuse(const std::string& why) const {
  return error_of(CollectiveCode::misuse, group->rank,
                  cat(name_of(call->operation), " by rank ", group->rank, ": ", why));
}

// The other ranks wait for this rank even if it cannot do the operation. It then goes through its
// list with notes. If no rank can know its list, all operations of the communicator end.
CollectiveError CollectiveRequest::State::start(bool waits) {
  if (is_copy()) return misuse(kOfParent);
  if (stage == Stage::under_way)
    return misuse("it was started twice: wait for it before it is started again");
  if (group->is_freed) return misuse("its communicator was freed: nothing more is started by it");
  number = group->begun++;
  try {
    return begin(waits);
  } catch (const std::bad_alloc&) {
    stage = Stage::ready;
    own = group->has_no_memory_for(name_of(call->operation), number);
    return own;
  }
}

CollectiveError CollectiveRequest::State::begin(bool waits) {
  own = prepared->error ? prepared->error : lacks;
  refused.reset();
  if (own) {
    const bool tells = has_tag && (prepared->made != nullptr || prepared->checked != nullptr);
    refuse();
    if (!tells) {
      if (has_tag && group->ranks.size() > 1) give_up();
      return own;
    }
  }
  if (run == nullptr) run = &group->engine->pool.take();
  if (auto bound = bind(); !bound) {
    own = error_of(CollectiveCode::resources, group->rank,
                   cat(describe(), " by rank ", group->rank, ": ", bound.error().text()));
    refuse();
    if (bound = bind(); !bound) throw std::bad_alloc();
  }
  group->start(*run, waits);
  stage = Stage::under_way;
  if (run->is_over()) group->note_exhaustion(*prepared, *call, *run);
  return {};
}

void CollectiveRequest::State::give_up() {
  AbortedContext what;
  what.context = group->context;
  what.rank = group->ranks[static_cast<std::size_t>(group->rank)];
  what.refusal = prepared->refusal;
  group->engine->executor->give_up(what, group->ranks);
}

void CollectiveRequest::State::refuse() {
  Fault fault;
  fault.code = own.code == CollectiveCode::resources ? FaultCode::resources : FaultCode::mismatch;
  fault.rank = group->rank;
  fault.words = own.text();
  fault.refusal = prepared->refusal;
  refused = std::make_shared<const Fault>(std::move(fault));
}

Result<void> CollectiveRequest::State::bind() {
  Call bound = group->call_of(*prepared, *call, tag, number);
  bound.refused = refused;
  return run->bind(std::move(bound));
}

bool CollectiveRequest::State::test() {
  if (stage != Stage::under_way || is_copy()) return true;
  return group->engine->executor->test(*run);
}

CollectiveError CollectiveRequest::State::wait(Limit limit) {
  if (is_copy()) return misuse(kOfParent);
  if (own && stage == Stage::ready) {  // refused at once
    stage = Stage::over;
    return own;
  }
  if (stage == Stage::ready) return misuse("it is waited for, and was not started");
  if (stage == Stage::over) return misuse("it was waited for twice");
  if (!group->engine->executor->wait(*run, limit))
    return error_of(CollectiveCode::timed_out, -1,
                    cat(describe(), ": not over within the limit of its wait; it goes on"));
  return end();
}

CollectiveError CollectiveRequest::State::end() {
  stage = Stage::over;
  group->note_exhaustion(*prepared, *call, *run);
  CollectiveError error = own ? own : group->error_of_run(*prepared, *call, *run);
  if (!persistent) {
    group->engine->pool.give_back(*run);
    run = nullptr;
  }
  return error;
}

std::string CollectiveRequest::State::describe() const {
  return words_of(*prepared, *call);
}

CollectiveRequest::CollectiveRequest() = default;
CollectiveRequest::CollectiveRequest(CollectiveError refused) : refused_(std::move(refused)) {}
CollectiveRequest::CollectiveRequest(std::unique_ptr<State> state) : state_(std::move(state)) {}
CollectiveRequest::CollectiveRequest(CollectiveRequest&&) noexcept = default;
CollectiveRequest& CollectiveRequest::operator=(CollectiveRequest&&) noexcept = default;
CollectiveRequest::~CollectiveRequest() = default;

// A request that was moved from has no text left.
CollectiveError CollectiveRequest::refused_or_nothing() const {
  return refused_ ? refused_ : of_nothing();
}

bool CollectiveRequest::test() {
  return state_ == nullptr || state_->test();
}

CollectiveError CollectiveRequest::wait(Limit limit) {
  return state_ == nullptr ? refused_or_nothing() : state_->wait(limit);
}

CollectiveError CollectiveRequest::start() {
  if (state_ == nullptr) return refused_or_nothing();
  if (!state_->persistent)
    return state_->misuse("only an operation that was prepared can be started again");
  return state_->start();
}

bool CollectiveRequest::persistent() const {
  return state_ != nullptr && state_->persistent;
}

std::string CollectiveRequest::describe() const {
  return state_ == nullptr ? "nothing" : state_->describe();
}

}  // namespace scela
