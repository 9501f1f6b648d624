// Tests that an operation that was run before does not allocate when it is started, or run, again.
#include <catch2/catch.hpp>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/executors/factory.h"
#include "collectives/executors/run/run_pool.h"
#include "tests/support/memory/counted_memory.h"

namespace scela::collectives::allocations_test {
namespace {

using test::allocations;

// A transport on which each message is complete when it is tested for the second time.
class Prompt final : public Transport {
 public:
  Ticket send(int, Route, std::span<const std::byte>) override { return 0; }
  Ticket receive(int, Route, std::span<std::byte> bytes) override {
    bytes_ = bytes.size() == 32 ? 8 : bytes.size();
    return 0;
  }
  Outcome test(Ticket) override {
    asked_ = !asked_;
    Outcome outcome;
    outcome.over = !asked_;
    outcome.bytes = bytes_;
    return outcome;
  }
  bool wait_any(std::span<const Ticket>, Timeout) override { return true; }
  void wake() override {}
  void cancel(Ticket) override {}
  std::uint32_t tags() const override { return 1; }

 private:
  bool asked_ = false;
  std::uint64_t bytes_ = 0;
};

void first(const void*, const std::byte*, const std::byte*, std::byte*, std::size_t) {}

TEST_CASE("executors: starting and running an operation of 64 ranks again allocates nothing") {
  for (const char* const name : {"recursive-doubling", "reduce-bcast"}) {
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{65536}}) {
      Shape shape;
      shape.operation = Operation::allreduce;
      shape.ranks = 64;
      TaskList list = find(shape.operation, name)->build(shape, 5);
      Layout layout;
      for (std::size_t space = 0; space < 3; ++space)
        layout.spaces[space] = BlockSizes::equal(list.blocks[space], bytes);
      const auto plan = Plan::of(std::move(list));
      REQUIRE(plan);
      std::vector<std::byte> in(bytes);
      std::vector<std::byte> out(bytes);
      Call call;
      call.plan = *plan;
      call.layout = &layout;
      call.input = in.data();
      call.output = out.data();
      call.reduction = {first, nullptr, 1};
      const auto polled = make_polled(std::make_unique<Prompt>());
      RunPool pool;
      std::size_t before = 0;
      for (int turn = 0; turn < 4; ++turn) {
        if (turn == 1) before = allocations;
        Run& run = pool.take();
        const bool bound = run.bind(call).has_value();
        polled->start(run);
        const bool waited = polled->wait(run);
        const bool good = run.error() == nullptr;
        pool.give_back(run);
        if (!bound || !waited || !good) FAIL("it does not run");
      }
      CHECK(allocations - before == 0);
      CHECK(pool.size() == 1);
    }
  }
}

}  // namespace
}  // namespace scela::collectives::allocations_test
