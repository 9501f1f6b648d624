// The caller's own thread moves the runs of these executors: in each of its calls (polled), or at
// once (inline).
#include <memory>
#include <utility>

#include "collectives/executors/factory.h"
#include "collectives/executors/looking.h"
#include "collectives/executors/run_set.h"

namespace scela::collectives {

namespace {

class Polled final : public Executor {
 public:
  explicit Polled(std::unique_ptr<Transport> transport)
      : transport_(std::move(transport)), runs_(*transport_) {}

  std::string_view name() const override { return name_of(ExecutorKind::polled); }
  void start(Run& run) override { runs_.add(run); }
  void run(Run& run) override {
    runs_.add(run, RunSet::Caller::waits);
    wait(run, {});
  }
  bool test(Run& run) override {
    if (!run.is_over()) runs_.advance();
    return run.is_over();
  }
  using Executor::wait;
  std::size_t wait_any(std::span<Run* const> runs, Timeout limit) override {
    if (!is_any(runs)) return runs.size();
    const Deadline deadline(limit);
    for (;;) {
      const std::size_t found = first_over(runs);
      if (found != runs.size()) return found;
      if (runs_.advance()) continue;
      if (deadline.over()) return runs.size();
      runs_.wait(deadline.left());
    }
  }
  bool wait(Run& run, Timeout limit) override {
    if (limit) return Executor::wait(run, limit);
    while (!run.is_over())
      if (!runs_.advance()) runs_.wait_undisturbed();
    return true;
  }
  void progress() override { runs_.advance(); }
  bool add_requests(std::vector<Request*>& all) override { return runs_.add_requests(all); }
  void cancel(Run& run, Fault why) override { runs_.cancel(run, std::move(why)); }
  RunContexts& contexts() override { return runs_; }
  std::string describe() const override { return "polled by the calling thread"; }

 private:
  std::unique_ptr<Transport> transport_;
  RunSet runs_;
};

class Inline final : public Executor {
 public:
  explicit Inline(Executor& polled) : polled_(polled) {}

  std::string_view name() const override { return name_of(ExecutorKind::at_once); }
  void start(Run& run) override { polled_.run(run); }
  bool test(Run& run) override { return run.is_over(); }
  std::size_t wait_any(std::span<Run* const> runs, Timeout limit) override {
    return polled_.wait_any(runs, limit);
  }
  void progress() override { polled_.progress(); }
  bool add_requests(std::vector<Request*>& all) override { return polled_.add_requests(all); }
  void cancel(Run& run, Fault why) override { polled_.cancel(run, std::move(why)); }
  RunContexts& contexts() override { return polled_.contexts(); }
  std::string describe() const override { return "run to completion by the calling thread"; }

 private:
  Executor& polled_;
};

}  // namespace

std::unique_ptr<Executor> make_polled(std::unique_ptr<Transport> transport) {
  return std::make_unique<Polled>(std::move(transport));
}

std::unique_ptr<Executor> make_inline(Executor& polled) {
  return std::make_unique<Inline>(polled);
}

}  // namespace scela::collectives
