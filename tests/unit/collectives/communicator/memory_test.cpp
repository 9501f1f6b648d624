// Tests a rank without memory for an operation: all ranks get the same error, and none waits for
// it.
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/communicator/maker.h"
#include "common/core/text.h"
#include "tests/support/memory/failing_memory.h"
#include "tests/support/memory_network.h"

namespace scela::collectives::test::memory_test {
namespace {

using scela::test::allocate_nothing;
using scela::test::FailingMemory;
using scela::test::NoLargeMemory;
using scela::test::SparedMemory;

constexpr int kRanks = 3, kCulprit = 1;
constexpr std::size_t kOperations = 6, kFails = 3;
constexpr std::chrono::seconds kLimit(5);

// A transport in which sends and receives need memory before they begin anything, as in the
// channel. The network of the test never fails to allocate for itself. If there is a gate, sends
// wait until it is open, that is, not locked.
class Needy final : public Transport {
 public:
  explicit Needy(std::unique_ptr<Transport> inner, std::mutex* gate = nullptr)
      : inner_(std::move(inner)), gate_(gate) {}
  ~Needy() override {
    const SparedMemory spared;
    inner_.reset();
  }
  Ticket send(int peer, Route route, std::span<const std::byte> bytes) override {
    allocate_nothing();
    const SparedMemory spared;
    if (gate_ != nullptr) {
      const std::lock_guard waits(*gate_);
    }
    return inner_->send(peer, route, bytes);
  }
  Ticket receive(int peer, Route route, std::span<std::byte> bytes) override {
    allocate_nothing();
    const SparedMemory spared;
    return inner_->receive(peer, route, bytes);
  }
  Outcome take(int peer, Route route, std::span<std::byte> bytes) override {
    const SparedMemory spared;
    return inner_->take(peer, route, bytes);
  }
  Outcome test(Ticket ticket) override {
    const SparedMemory spared;
    return inner_->test(ticket);
  }
  bool wait_any(std::span<const Ticket> tickets, Timeout limit) override {
    const SparedMemory spared;
    return inner_->wait_any(tickets, limit);
  }
  void wake() override { inner_->wake(); }
  void cancel(Ticket ticket) override {
    const SparedMemory spared;
    inner_->cancel(ticket);
  }
  std::span<const int> ended() override {
    const SparedMemory spared;
    return inner_->ended();
  }
  void lost(int peer) override {
    const SparedMemory spared;
    inner_->lost(peer);
  }
  void give_up(std::span<const int> peers, const AbortedContext& what) override {
    const SparedMemory spared;
    inner_->give_up(peers, what);
  }
  std::optional<AbortedContext> given_up() override {
    const SparedMemory spared;
    return inner_->given_up();
  }
  void withdraw(Ticket ticket) override {
    const SparedMemory spared;
    inner_->withdraw(ticket);
  }
  void drop(ContextId context) override {
    const SparedMemory spared;
    inner_->drop(context);
  }
  std::uint32_t tags() const override { return inner_->tags(); }

 private:
  std::unique_ptr<Transport> inner_;
  std::mutex* gate_;
};

struct Ends {
  std::array<Status, kOperations> statuses;
  bool has_failed = false;  // an allocation of this rank
  std::string wrong;
};

// Runs the operations of one rank. The culprit's n-th allocation in the start of one of them fails.
Ends operations(Communicator& world, long n, bool blocking) {
  Ends ends;
  std::array<std::vector<double>, kOperations> inputs, outputs;
  std::array<Request, kOperations> requests;
  for (std::size_t i = 0; i < kOperations; ++i) {
    inputs[i].assign(40 + i, world.rank() + static_cast<double>(i));
    outputs[i].resize(inputs[i].size());
    const Collective what = Collective::allreduce(inputs[i], outputs[i], ReduceOp::sum);
    const bool fails = world.rank() == kCulprit && i == kFails;
    const FailingMemory failing(fails ? n : 0);
    if (blocking)
      ends.statuses[i] = world.run(what);
    else
      requests[i] = world.start(what);
    if (fails) ends.has_failed = failing.has_failed();
  }
  for (std::size_t i = 0; i < kOperations; ++i) {
    if (!blocking) ends.statuses[i] = requests[i].wait(kLimit);
    const double sum = 3 + kRanks * static_cast<double>(i);
    for (const double value : outputs[i])
      if (ends.statuses[i].ok() && value != sum) ends.wrong = cat("operation ", i, " gave ", value);
  }
  return ends;
}

// Runs `part` on each rank, in a thread of its own. The culprit's sends wait at the gate.
template <typename Part>
void on_every_rank(ProgressMode progress, std::mutex* gate, const Part& part) {
  MemoryNetwork network(kRanks, 5);
  network.deliver_in_waits();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      CommunicatorMaker maker;
      maker.transport = [&, rank] {
        return std::make_unique<Needy>(network.transport(rank), rank == kCulprit ? gate : nullptr);
      };
      maker.rank = rank;
      maker.nodes.assign(kRanks, 0);
      maker.options.progress = progress;
      maker.environment = [](const std::string&) { return std::nullopt; };
      Communicator world = maker.make();
      part(world);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

std::array<Ends, kRanks> everyone_with(ProgressMode progress, long n, bool blocking) {
  std::array<Ends, kRanks> all;
  on_every_rank(progress, nullptr, [&](Communicator& world) {
    all[static_cast<std::size_t>(world.rank())] = operations(world, n, blocking);
  });
  return all;
}

// The culprit gets an error for the operation for which it had no memory. The others get it too,
// unless all that they needed of the culprit had been sent. Of each later operation, all ranks get
// errors or none does.
std::string unlike(const std::array<Ends, kRanks>& all) {
  for (std::size_t i = kFails; i < kOperations; ++i) {
    for (const Ends& ends : all) {
      const Status& status = ends.statuses[i];
      if (i != kFails && status.ok() != all[0].statuses[i].ok())
        return cat("operation ", i, " ends not alike: ", status.message(), " and ",
                   all[0].statuses[i].message());
      if (!status.ok() && (status.code() != Code::resources || status.rank() != kCulprit))
        return cat("operation ", i, ": ", status.message());
    }
  }
  return all[kCulprit].statuses[kFails].ok() ? "it went well" : "";
}

}  // namespace

TEST_CASE("communicator memory: a rank that has none for an operation is named on all ranks") {
  const auto [progress, blocking] =
      GENERATE(std::pair{ProgressMode::polled, false}, std::pair{ProgressMode::polled, true},
               std::pair{ProgressMode::at_once, false}, std::pair{ProgressMode::thread, false},
               std::pair{ProgressMode::thread, true});
  CAPTURE(static_cast<int>(progress), blocking);
  // Blocking operations have no limit, so a rank that waits for ever ends the test.
  ::alarm(120);
  long tried = 0;
  for (long n = 1;; ++n) {
    CAPTURE(n);
    const std::array<Ends, kRanks> all = everyone_with(progress, n, blocking);
    for (const Ends& ends : all) {
      REQUIRE(ends.wrong.empty());
      for (std::size_t i = 0; i < kFails && blocking; ++i)
        REQUIRE(ends.statuses[i].ok());
    }
    if (!all[kCulprit].has_failed) {
      for (const Ends& ends : all)
        for (const Status& status : ends.statuses)
          REQUIRE(status.ok());
      break;
    }
    REQUIRE(unlike(all) == "");
    ++tried;
  }
  ::alarm(0);
  CHECK(tried > 0);
}

// Many orders wait for the progress thread, so a queue of them in one piece would have to grow. The
// order that tells the others of exhausted memory is one of them.
TEST_CASE("communicator memory: where only small pieces are left, operations go on") {
  constexpr std::size_t kMany = 1000, kSmall = 16384;
  ::alarm(120);
  std::mutex gate;
  std::array<std::string, kRanks> wrong;
  on_every_rank(ProgressMode::thread, &gate, [&](Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    std::vector<int> in(kMany, 1), out(kMany);
    std::vector<Request> requests(kMany);
    const auto start = [&](std::size_t i) {
      requests[i] = world.start(Collective::allreduce(std::span(in).subspan(i, 1),
                                                      std::span(out).subspan(i, 1), ReduceOp::sum));
    };
    start(0);  // later calls find it prepared
    if (const Status status = requests[0].wait(kLimit); !status.ok())
      wrong[rank] = status.message();
    std::unique_lock closed(gate, std::defer_lock);
    if (world.rank() == kCulprit) closed.lock();
    {
      const NoLargeMemory small(kSmall);
      for (std::size_t i = 1; i < kMany; ++i)
        start(i);
    }
    if (closed) closed.unlock();
    for (std::size_t i = 1; i < kMany; ++i) {
      const Status status = requests[i].wait(kLimit);
      if (!status.ok()) wrong[rank] = status.message();
      if (status.ok() && out[i] != kRanks) wrong[rank] = cat("operation ", i, " gave ", out[i]);
    }
  });
  ::alarm(0);
  for (const std::string& what : wrong)
    CHECK(what == "");
}

}  // namespace scela::collectives::test::memory_test
