#include "tests/support/interleavings.h"

#include <ucontext.h>

#include <deque>
#include <utility>
#include <vector>

namespace scela::test {

namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
struct Unwound {};  // ends a thread's stack once the execution is over

struct Buffered {
  explored::Cell* cell;
  explored::Cell value;
};

struct Thread {
  enum class Life { running, done, killed };
  std::string name;
  Interleavings::Body body;
  Interleavings::Body after_kill;
  bool waits_for_ever = false;
  ucontext_t context{};
  bool begun = false;
  Life life = Life::running;
  std::function<bool()> until;  // empty: it can go on
  std::deque<Buffered> buffer;

  bool can_go_on() const { return life == Life::running && (!until || until()); }
};

// One choice at a point of an execution: an action of a thread or of the machine.
struct Choice {
  enum class Kind { run, flush, kill };
  Kind kind = Kind::run;
  std::size_t thread = 0;
  std::size_t flushes = 0;  // of the thread that ran before, ahead of it
};

}  // namespace

class Interleavings::Run {
 public:
  Run(const Bounds& bounds, std::vector<std::unique_ptr<std::byte[]>>& stacks)
      : bounds_(bounds), stacks_(stacks) {}

  void execute(const std::function<void(Interleavings&)>& setup);
  // The next of all executions. False: there is none.
  bool next();

  void add(Thread thread) { threads_.push_back(std::make_unique<Thread>(std::move(thread))); }
  void at_end(Body body) { at_end_ = std::move(body); }
  bool inside() const { return current_ != kNobody && !over_; }
  void decide();
  void wait_until(std::function<bool()> holds);
  void fail(const std::string& why);
  explored::Cell load(const explored::Cell& cell);
  void drain(Thread& thread);
  void drain_all();
  Thread& current() { return *threads_[current_]; }
  void enter();
  const std::string& problem() const { return problem_; }
  std::uint64_t changes() const { return changes_; }

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};

  std::vector<Choice> choices() const;
  std::size_t pick(std::size_t count);
  void switch_to(std::size_t number);
  void start(Thread& thread, std::size_t number);
  void unwind();
  std::string order() const;

  const Bounds& bounds_;
  std::vector<std::unique_ptr<std::byte[]>>& stacks_;
  std::vector<std::unique_ptr<Thread>> threads_;
  Body at_end_;
  ucontext_t main_{};
  std::size_t current_ = kNobody;
  bool over_ = false;
  int preemptions_ = 0;
  std::uint64_t changes_ = 0;  // of the thread that runs, and by what the machine does
  std::vector<std::uint8_t> ran_;
  std::string problem_;
  struct Taken {
    std::size_t chosen;
    std::size_t of;
  };
  std::vector<Taken> path_;
  std::size_t depth_ = 0;
};

namespace {

Interleavings::Run* active = nullptr;

void begin_fiber() {
  active->enter();
}

}  // namespace

std::vector<Choice> Interleavings::Run::choices() const {
  std::vector<Choice> found;
  const bool goes_on = current_ != kNobody && threads_[current_]->can_go_on();
  if (goes_on) found.push_back({Choice::Kind::run, current_, 0});
  const std::size_t waiting = current_ == kNobody ? 0 : threads_[current_]->buffer.size();
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const Thread& thread = *threads_[i];
    if (i != current_ && thread.can_go_on() && (!goes_on || preemptions_ < bounds_.preemptions))
      for (std::size_t flushes = 0; flushes <= waiting; ++flushes)
        found.push_back({Choice::Kind::run, i, flushes});
    if (i != current_ && !thread.buffer.empty()) found.push_back({Choice::Kind::flush, i, 0});
    if (thread.after_kill && thread.begun && thread.life == Thread::Life::running)
      found.push_back({Choice::Kind::kill, i, 0});
  }
  return found;
}

std::size_t Interleavings::Run::pick(std::size_t count) {
  if (count == 1) return 0;
  if (depth_ == path_.size()) path_.push_back({0, count});
  return path_[depth_++].chosen;
}

bool Interleavings::Run::next() {
  while (!path_.empty() && path_.back().chosen + 1 == path_.back().of)
    path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().chosen;
  return true;
}

// Before each step, on the stack of the thread that is about to take it: returns when it may.
void Interleavings::Run::decide() {
  for (;;) {
    if (ran_.size() > static_cast<std::size_t>(bounds_.steps)) fail("it does not end");
    const std::vector<Choice> possible = choices();
    if (possible.empty()) return switch_to(kNobody);
    const Choice chosen = possible[pick(possible.size())];
    Thread& thread = *threads_[chosen.thread];
    if (chosen.kind != Choice::Kind::run || chosen.thread != current_) ++changes_;
    if (chosen.kind == Choice::Kind::flush) {
      *thread.buffer.front().cell = thread.buffer.front().value;
      thread.buffer.pop_front();
      continue;
    }
    if (chosen.kind == Choice::Kind::kill) {
      drain(thread);
      thread.life = Thread::Life::killed;
      thread.after_kill();
      continue;
    }
    ran_.push_back(static_cast<std::uint8_t>(chosen.thread));
    if (chosen.thread == current_) return;
    if (current_ != kNobody) {
      Thread& before = current();
      if (before.can_go_on()) ++preemptions_;
      for (std::size_t i = 0; i < chosen.flushes; ++i) {
        *before.buffer.front().cell = before.buffer.front().value;
        before.buffer.pop_front();
      }
    }
    return switch_to(chosen.thread);
  }
}

void Interleavings::Run::switch_to(std::size_t number) {
  ucontext_t& from = current_ == kNobody ? main_ : current().context;
  current_ = number;
  ucontext_t* to = &main_;
  if (number != kNobody) {
    Thread& thread = *threads_[number];
    if (!std::exchange(thread.begun, true)) start(thread, number);
    to = &thread.context;
  }
  ::swapcontext(&from, to);
  if (over_ && current_ != kNobody) throw Unwound{};
}

void Interleavings::Run::start(Thread& thread, std::size_t number) {
  while (stacks_.size() <= number)
    stacks_.push_back(std::make_unique<std::byte[]>(kStackBytes));
  ::getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = stacks_[number].get();
  thread.context.uc_stack.ss_size = kStackBytes;
  thread.context.uc_link = nullptr;
  ::makecontext(&thread.context, begin_fiber, 0);
}

// The first function on a thread's stack.
void Interleavings::Run::enter() {
  Thread& thread = current();
  try {
    thread.body();
    decide();
    drain(thread);
    thread.life = Thread::Life::done;
  } catch (const Unwound&) {
    thread.life = Thread::Life::done;
  }
  if (over_)
    switch_to(kNobody);
  else
    decide();
  std::abort();  // a thread that is done is never resumed
}

void Interleavings::Run::wait_until(std::function<bool()> holds) {
  decide();  // others may run while what it has stored is still in its buffer
  drain(current());
  current().until = std::move(holds);
  decide();
  current().until = nullptr;
}

void Interleavings::Run::fail(const std::string& why) {
  problem_ = why + "; in the order " + order();
  over_ = true;
  if (current_ == kNobody) throw Unwound{};
  switch_to(kNobody);
}

void Interleavings::Run::drain(Thread& thread) {
  for (const Buffered& one : thread.buffer)
    *one.cell = one.value;
  thread.buffer.clear();
}

void Interleavings::Run::drain_all() {
  for (const auto& thread : threads_)
    drain(*thread);
}

explored::Cell Interleavings::Run::load(const explored::Cell& cell) {
  const auto& buffer = current().buffer;
  for (auto one = buffer.rbegin(); one != buffer.rend(); ++one)
    if (one->cell == &cell) return one->value;
  return cell;
}

std::string Interleavings::Run::order() const {
  std::string text;
  for (std::size_t i = 0; i < ran_.size();) {
    std::size_t end = i;
    while (end < ran_.size() && ran_[end] == ran_[i])
      ++end;
    text += (text.empty() ? "" : ", ") + threads_[ran_[i]]->name + " x " + std::to_string(end - i);
    i = end;
  }
  return text;
}

void Interleavings::Run::execute(const std::function<void(Interleavings&)>& setup) {
  threads_.clear();
  at_end_ = nullptr;
  over_ = false;
  preemptions_ = 0;
  ran_.clear();
  problem_.clear();
  depth_ = 0;
  active = this;
  Interleavings shown(*this);
  setup(shown);
  decide();
  for (const auto& thread : threads_)
    if (problem_.empty() && thread->life == Thread::Life::running && !thread->waits_for_ever)
      problem_ = thread->name + " waits for ever; in the order " + order();
  unwind();
  if (problem_.empty() && at_end_) {
    try {
      at_end_();
    } catch (const Unwound&) {
    }
  }
  active = nullptr;
}

// So that what stands on the threads' stacks is destroyed.
void Interleavings::Run::unwind() {
  over_ = true;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = *threads_[i];
    if (thread.begun && thread.life != Thread::Life::done) switch_to(i);
  }
}

Interleavings::Found Interleavings::explore(const Bounds& bounds,
                                            const std::function<void(Interleavings&)>& setup) {
  std::vector<std::unique_ptr<std::byte[]>> stacks;
  Run run(bounds, stacks);
  Found found;
  do {
    run.execute(setup);
    ++found.executions;
    found.problem = run.problem();
    if (!found.problem.empty()) return found;
    if (!run.next()) {
      found.all = true;
      return found;
    }
  } while (found.executions < bounds.executions);
  return found;
}

void Interleavings::thread(std::string name, Body body) {
  Thread made;
  made.name = std::move(name);
  made.body = std::move(body);
  run_.add(std::move(made));
}

void Interleavings::daemon(std::string name, Body body) {
  Thread made;
  made.name = std::move(name);
  made.body = std::move(body);
  made.waits_for_ever = true;
  run_.add(std::move(made));
}

void Interleavings::mortal(std::string name, Body body, Body after) {
  Thread made;
  made.name = std::move(name);
  made.body = std::move(body);
  made.after_kill = std::move(after);
  run_.add(std::move(made));
}

void Interleavings::at_end(Body body) {
  run_.at_end(std::move(body));
}

void step() {
  if (active != nullptr && active->inside()) active->decide();
}

void everybody_sees() {
  step();
  if (active != nullptr && active->inside()) active->drain_all();
}

void wait_until(std::function<bool()> holds) {
  if (active != nullptr && active->inside()) active->wait_until(std::move(holds));
}

Turn::Turn() : seen_(active == nullptr ? 0 : active->changes()) {}

void Turn::pass() const {
  if (active == nullptr || !active->inside()) return;
  const std::uint64_t seen = seen_;
  active->wait_until([seen] { return active->changes() != seen; });
}

void expect(bool holds, const char* what) {
  if (!holds && active != nullptr) active->fail(std::string("it does not hold that ") + what);
}

namespace explored {

Cell load(const Cell& cell) {
  step();
  return active != nullptr && active->inside() ? active->load(cell) : cell;
}

void store(Cell& cell, Cell value, bool buffered) {
  step();
  if (active != nullptr && active->inside()) {
    if (buffered) return active->current().buffer.push_back({&cell, value});
    active->drain(active->current());
  }
  cell = value;
}

Cell exchange(Cell& cell, const std::function<Cell(Cell)>& change) {
  step();
  if (active != nullptr && active->inside()) active->drain(active->current());
  const Cell old = cell;
  cell = change(old);
  return old;
}

}  // namespace explored

}  // namespace scela::test
