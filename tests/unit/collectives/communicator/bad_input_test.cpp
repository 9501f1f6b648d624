// Tests that invalid input is refused, that the error says what is wrong and on which rank, and
// that the rank that fails is named.
#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "common/core/text.h"
#include "tests/unit/collectives/communicator/everyone.h"

namespace scela::collectives::test::bad_input_test {
namespace {

// Rank 0 of two, without rank 1: a refusal needs no other rank.
struct Alone {
  explicit Alone(std::string table = {}) {
    CommunicatorMaker maker;
    maker.transport = [this] { return network.transport(0); };
    maker.nodes = {0, 0};
    maker.options.table = std::move(table);
    maker.environment = [](const std::string&) { return std::nullopt; };
    world.emplace(maker.make());
  }
  MemoryNetwork network{2, 3};
  std::optional<Communicator> world;
};

bool has(const Status& status, const std::string& words) {
  return status.message().find(words) != std::string::npos;
}

// Checks that all forms of the call are refused.
void refused(Code code, const Collective& collective, const std::string& words) {
  Alone alone;
  INFO(words);
  const Status run = alone.world->run(collective);
  CHECK(run.code() == code);
  CHECK(run.rank() == 0);
  CHECK(has(run, words));
  INFO(run.message());
  CHECK(has(run, "by rank 0 of 2"));
  Request started = alone.world->start(collective);
  CHECK(started.test());
  for (int time = 0; time < 2; ++time) {
    const Status status = started.wait();
    CHECK(status.code() == code);
    CHECK(status.rank() == 0);
    CHECK(has(status, words));
  }
  CHECK(has(started.status(), words));
  Request prepared = alone.world->prepare(collective);
  const Status not_begun = prepared.start();
  CHECK(not_begun.code() == code);
  CHECK(has(not_begun, words));
  CHECK(alone.network.under_way() == 0);
}

// Checks a refusal that does not depend on sizes. All ranks make the same call, and each runs its
// list with notes.
void refused_by_all(Code code, const Collective& collective, const std::string& words) {
  MemoryNetwork network(2, 3);
  network.deliver_in_waits();
  INFO(words);
  CHECK(everyone(network, {.ranks = 2}, [&](Communicator& world) -> std::string {
          const auto wrong = [&](const Status& status) -> std::string {
            const bool is_right = status.code() == code && status.rank() == world.rank() &&
                                  has(status, words) &&
                                  has(status, cat("by rank ", world.rank(), " of 2"));
            return is_right ? "" : cat("said ", status.message());
          };
          std::string said = wrong(world.run(collective));
          if (!said.empty()) return said;
          Request started = world.start(collective);
          said = wrong(started.wait());
          if (!said.empty()) return said;
          Request prepared = world.prepare(collective);
          if (const Status status = prepared.start(); !status.ok()) return status.message();
          return wrong(prepared.wait());
        }) == "");
  CHECK(network.under_way() == 0);
}

TEST_CASE("communicator: wrong roots, null and overlapping buffers and sizes are refused") {
  std::vector<int> two(2), four(4), other(4);
  std::vector<float> floats(4);
  std::vector<std::byte> bytes(4), more(4);
  const ReduceOp sum = ReduceOp::sum;
  refused(Code::bad_root, Collective::bcast(two, 2), "invalid root 2 (valid: ranks 0 to 1)");
  refused(Code::bad_root, Collective::reduce(two, four, sum, -1), "invalid root -1");
  refused_by_all(Code::bad_buffer, Collective::bcast(Buffer(nullptr, 3, 4, ElementType::int32), 0),
                 "the output is null");
  refused_by_all(Code::bad_buffer,
                 Collective::alltoall(ConstBuffer(nullptr, 4, 4, ElementType::int32), four),
                 "the input is null");
  refused(Code::bad_count, Collective::allreduce(two, four, sum),
          "the input has 8 bytes instead of 16");
  refused(Code::bad_count, Collective::allgather(two, two), "the output has 8 bytes instead of 16");
  refused(Code::bad_count, Collective::gather(two, std::span(four).first(3), 0),
          "the output has 12 bytes");
  refused(Code::bad_count, Collective::scatter(std::span(four).first(3), two, 0),
          "the input has 12 bytes");
  refused(Code::bad_count, Collective::allgather(kInPlace, std::span(four).first(3)),
          "the output has 12 bytes instead of 8");
  refused_by_all(Code::bad_buffer, Collective::allreduce(four, four, sum), "overlap");
  refused_by_all(Code::bad_buffer,
                 Collective::alltoall(std::span(other).first(2), std::span(other).subspan(1, 2)),
                 "overlap");
  refused(Code::bad_type, Collective::allreduce(four, floats, sum), "different element types");
  refused_by_all(Code::bad_reducer, Collective::allreduce(bytes, more, sum),
                 "elements that are just bytes");
  refused_by_all(Code::bad_reducer, Collective::allreduce(kInPlace, floats, ReduceOp::bit_and),
                 "there is no bit-and of float32");
  refused_by_all(Code::bad_reducer, Collective::allreduce(four, other, Reducer::of(nullptr, true)),
                 "the reduction function is empty");
}

TEST_CASE("communicator: a refused call is reported, by rank, to the ranks that wait for it") {
  for (const ProgressMode by : kAllProgressModes)
    for (const int ranks : {2, 3, 5})
      CHECK(everyone({.ranks = ranks, .progress = by}, [](Communicator& world) -> std::string {
              const int last = world.size() - 1;
              // 6 elements have as many bytes as a note.
              for (const std::size_t count : {1, 3, 6, 1000}) {
                const std::vector<int> own(count, 1);
                std::vector<int> out(count);
                const auto status = world.run(Collective::allreduce(
                    world.rank() == last ? ConstBuffer(nullptr, count, 4, ElementType::int32)
                                         : ConstBuffer(own),
                    out, ReduceOp::sum));
                const bool is_right =
                    status.rank() == last &&
                    (world.rank() == last
                         ? status.code() == Code::bad_buffer && has(status, "input is null")
                         : status.code() == Code::mismatch &&
                               has(status, "its call was refused: its buffer is null"));
                if (!is_right) return cat("said ", status.message());
                if (const auto after = world.run(Collective::allreduce(own, out, ReduceOp::sum));
                    !after.ok())
                  return after.message();
                if (out != std::vector<int>(count, world.size())) return "another sum";
              }
              return {};
            }) == "");
}

// The error names the rank that freed it, whichever rank that is and whatever operation the others
// call. This includes ranks that only send to it, or that do not need it.
TEST_CASE("communicator: a rank that uses a communicator freed elsewhere is told the rank") {
  for (const ProgressMode by : kAllProgressModes)
    for (const int ranks : {2, 3, 5})
      for (const int freer : {0, ranks - 1})
        for (const int kind : {0, 1, 2, 3}) {
          INFO("executor " << static_cast<int>(by) << ", rank " << freer << " of " << ranks
                           << " frees, kind " << kind);
          CHECK(everyone({.ranks = ranks, .progress = by}, [&](Communicator& world) -> std::string {
                  Communicator copy = world.dup();
                  std::vector<int> much(3000, 1), all(15'000), to(15'000);
                  const int near = (freer + 1) % ranks;
                  const Collective every[] = {
                      Collective::barrier(), Collective::bcast(much, freer).algorithm("flat"),
                      Collective::bcast(much, near).algorithm("flat"),
                      Collective::alltoall(std::span(all).first(1000u * ranks),
                                           std::span(to).first(1000u * ranks))};
                  if (const auto status = copy.run(every[3]); !status.ok()) return status.message();
                  std::string wrong;
                  if (world.rank() == freer) {
                    copy.free();
                  } else {
                    const auto named = [&](const Status& status) {
                      if (!wrong.empty() ||
                          (status.code() == Code::mismatch && status.rank() == freer &&
                           has(status, cat("rank ", freer, ": it has freed"))))
                        return;
                      wrong = cat("said ", status.message());
                    };
                    Status status;
                    while (status.ok())
                      status = copy.run(every[kind]);
                    named(status);
                    named(copy.run(Collective::barrier()));
                    named(copy.shrink().status());
                    named(copy.agree(true).status);
                  }
                  // The ranks learn of that in `copy` only, and `world` still works.
                  if (const auto status = world.barrier(); !status.ok()) return status.message();
                  const std::vector<int> own{1};
                  std::vector<int> sum(1);
                  if (const auto status = world.run(Collective::allreduce(own, sum, ReduceOp::sum));
                      !status.ok())
                    return status.message();
                  return sum[0] == ranks ? wrong : "another sum";
                }) == "");
        }
}

TEST_CASE("communicator: agree and shrink on a communicator freed elsewhere name the rank") {
  for (const ProgressMode by : kAllProgressModes)
    for (const bool shrinks : {false, true})
      CHECK(everyone({.ranks = 4, .progress = by}, [&](Communicator& world) -> std::string {
              Communicator copy = world.dup();
              std::string wrong;
              if (world.rank() == 2) {
                copy.free();
              } else {
                const Status status = shrinks ? copy.shrink().status() : copy.agree(true).status;
                if (status.code() != Code::mismatch || status.rank() != 2)
                  wrong = cat("said ", status.message());
              }
              if (const auto after = world.barrier(); !after.ok()) return after.message();
              return wrong;
            }) == "");
}

TEST_CASE("communicator: a rank that frees after it has begun all operations fails no other") {
  for (const ProgressMode by : {ProgressMode::polled, ProgressMode::thread})
    for (const int freer : {0, 1, 3})
      CHECK(everyone({.ranks = 4, .progress = by}, [&](Communicator& world) -> std::string {
              for (int time = 0; time < 5; ++time) {
                Communicator copy = world.dup();
                std::vector<int> own(2000, 1), sum(2000);
                const auto call = Collective::allreduce(own, sum, ReduceOp::sum);
                Request prepared = copy.prepare(call);
                if (const auto status = prepared.start(); !status.ok()) return status.message();
                if (const auto status = prepared.wait(); !status.ok()) return status.message();
                Request last;
                if (world.rank() == freer) {
                  last = copy.start(call);
                  copy.free();
                }
                // The barrier shows that the next rank has been told.
                if (const auto status = world.barrier(); !status.ok()) return status.message();
                if (world.rank() != freer) last = copy.start(call);
                if (const auto status = last.wait(); !status.ok()) return status.message();
                if (sum != std::vector<int>(2000, 4)) return "another sum";
                copy.free();
                if (!has(prepared.start(), "its communicator was freed")) return "it is started";
              }
              return {};
            }) == "");
}

TEST_CASE("communicator: checked calls name the rank that differs and the argument") {
  for (const ProgressMode by : kAllProgressModes) {
    const World checked{.ranks = 4, .progress = by, .environment = {{"SCELA_COLL_CHECK", "1"}}};
    CHECK(everyone(checked, [](Communicator& world) -> std::string {
            const bool differs = world.rank() == 2;
            std::vector<int> own(8, 1), out(8), all(32);
            const std::vector<Part> parts{{8, 0}, {8, 8}, {8, 16}, {8, 24}};
            const std::vector<Part> others{{8, 0}, {8, 8}, {8, 16}, {7, 24}};
            const auto sum = Collective::allreduce(own, out, ReduceOp::sum);
            std::vector<std::pair<Collective, std::string>> calls;
            calls.emplace_back(differs ? Collective::barrier() : sum,
                               "rank 2: it calls barrier; rank 0 and 2 more: it calls allreduce");
            calls.emplace_back(Collective::bcast(out, differs ? 1 : 3), "its root is rank 1; rank");
            calls.emplace_back(differs ? Collective::allreduce(kInPlace, out, ReduceOp::sum) : sum,
                               "it is in place; rank 0 and 2 more: it is not in place");
            calls.emplace_back(differs ? Collective::bcast(all, 9) : Collective::bcast(all, 0),
                               differs ? "invalid root 9" : "refused: its root is out of range");
            calls.emplace_back(Collective::allgatherv(own, all, differs ? others : parts),
                               "its parts are other sizes");
            for (const auto& [call, words] : calls) {
              const Status status = world.run(call);
              if (status.rank() != 2 || !has(status, words)) return cat("said ", status.message());
              if (const auto after = world.run(sum); !after.ok()) return after.message();
              if (out != std::vector<int>(8, 4)) return "another sum";
            }
            return {};
          }) == "");
  }
}

// Checks errors that only the two ranks of one message can see.
TEST_CASE("communicator: where calls are checked, messages that are not as expected are named") {
  for (const ProgressMode by : kAllProgressModes) {
    const World checked{.ranks = 4, .progress = by, .environment = {{"SCELA_COLL_CHECK", "1"}}};
    CHECK(everyone(checked, [](Communicator& world) -> std::string {
            const auto self = static_cast<std::size_t>(world.rank());
            const bool is_root = self == 1;
            std::vector<int> own(8, 1), out(8, 1), all(32, 1), to(32, 1);
            const std::span<int> seven = std::span(own).first(7);
            const std::vector<Part> parts{{8, 0}, {8, 8}, {8, 16}, {8, 24}};
            // `fewer` is what rank 3 sends to rank 2. `fewer_twice` is what it expects of ranks 2
            // and 0.
            std::vector<Part> fewer = parts;
            fewer[2].count = 7;
            std::vector<Part> fewer_twice = fewer;
            fewer_twice[0].count = 5;
            const bool differs = self == 3;
            const auto view = [&](std::vector<int>& of) { return is_root ? Buffer(of) : Buffer(); };
            std::vector<std::tuple<Collective, int, std::string>> calls;
            calls.emplace_back(Collective::alltoallv(all, differs ? fewer : parts, to, parts), 3,
                               "rank 3: it sends 28 bytes to rank 2, which expects 32");
            calls.emplace_back(Collective::alltoallv(all, parts, to, differs ? fewer_twice : parts),
                               3,
                               "rank 3: it expects 20 bytes of rank 0, which sends 32, and 1 more");
            calls.emplace_back(
                Collective::gatherv(differs ? seven : std::span(own), view(all), parts, 1), 3,
                "rank 3: it sends 28 bytes to rank 1, which expects 32");
            calls.emplace_back(
                Collective::scatterv(view(all), parts, differs ? seven : std::span(own), 1), 3,
                "rank 3: it expects 28 bytes of rank 1, which sends 32");
            const auto sum = Collective::allreduce(own, out, ReduceOp::sum);
            for (const auto& [call, rank, words] : calls) {
              const Status status = world.run(call);
              if (status.code() != Code::mismatch || status.rank() != rank || !has(status, words))
                return cat("said ", status.message(), " and not ", words);
              if (const auto after = world.run(sum); !after.ok()) return after.message();
              if (out != std::vector<int>(8, 4)) return "another sum";
            }
            // Correct calls still work.
            for (int time = 0; time < 2; ++time) {
              for (const Collective& call : {Collective::alltoallv(all, parts, to, parts),
                                             Collective::alltoallv(kInPlace, {}, to, parts),
                                             Collective::gatherv(own, view(all), parts, 1),
                                             Collective::scatterv(view(all), parts, own, 1)})
                if (const auto status = world.run(call); !status.ok()) return status.message();
            }
            return {};
          }) == "");
  }
}

void keep_left(const std::byte* left, const std::byte*, std::byte* result, std::size_t elements) {
  if (result != left) std::copy_n(left, elements * sizeof(int), result);
}
void keep_right(const std::byte*, const std::byte* right, std::byte* result, std::size_t elements) {
  if (result != right) std::copy_n(right, elements * sizeof(int), result);
}

TEST_CASE("communicator: checked calls name a rank that reduces by another function") {
  const World checked{.ranks = 3, .environment = {{"SCELA_COLL_CHECK", "1"}}};
  CHECK(everyone(checked, [](Communicator& world) -> std::string {
          const bool differs = world.rank() == 1;
          const std::vector<int> own(4, world.rank());
          std::vector<int> out(4);
          const auto named = [&](Reducer reducer) -> std::string {
            const auto status = world.run(Collective::allreduce(own, out, std::move(reducer)));
            const bool is_right = status.code() == Code::mismatch && status.rank() == 1 &&
                                  has(status, "rank 1: it reduces by its own function");
            return is_right ? "" : cat("said ", status.message());
          };
          std::string wrong = named(Reducer::of(differs ? keep_left : keep_right, false));
          const auto one = [](const std::byte* left, const std::byte* right, std::byte* result,
                              std::size_t elements) { keep_left(left, right, result, elements); };
          const auto other = [](const std::byte* left, const std::byte* right, std::byte* result,
                                std::size_t elements) { keep_left(left, right, result, elements); };
          if (wrong.empty())
            wrong = named(differs ? Reducer::of(one, false) : Reducer::of(other, false));
          if (!wrong.empty()) return wrong;
          for (const Reducer& reducer : {Reducer::of(one, false), Reducer::of(keep_left, false)}) {
            if (const auto status = world.run(Collective::allreduce(own, out, reducer));
                !status.ok())
              return status.message();
            if (out != std::vector<int>(4, 0)) return "another result";
          }
          return {};
        }) == "");
}

TEST_CASE("communicator: parts that are too many, too long or on each other are refused") {
  std::vector<int> own(2), four(4);
  refused(Code::bad_count, Collective::allgatherv(own, four, {{2, 0}}), "has 1 parts for 2 ranks");
  refused(Code::bad_count, Collective::allgatherv(own, four, {{2, 0}, {2, 3}}),
          "part 1 of the output extends past");
  refused(Code::bad_count, Collective::allgatherv(own, four, {{2, 1}, {2, 0}}),
          "parts 1 and 0 of the output overlap");
  refused(Code::bad_count, Collective::allgatherv(own, four, {{1, 0}, {2, 2}}),
          "the input has 8 bytes, but this rank's part has 4");
  refused(Code::bad_argument,
          Collective::reduce_scatter(kInPlace, own, {{1, 0}, {1, 0}}, ReduceOp::sum),
          "cannot be reduced in place");
}

TEST_CASE("communicator: an algorithm that there is not, or that cannot, is refused") {
  std::vector<int> own(4), out(4), two(2);
  const auto none = [](const std::byte*, const std::byte*, std::byte*, std::size_t) {};
  refused(Code::bad_argument, Collective::allreduce(own, out, ReduceOp::sum).algorithm("chian"),
          "chian");
  refused(Code::bad_argument,
          Collective::allreduce(own, out, Reducer::of(none, false)).algorithm("ring"),
          "it changes the order of operands");
  refused(Code::bad_argument,
          Collective::gatherv(two, out, {{2, 0}, {2, 2}}, 0).algorithm("binomial"),
          "take flat or sequential");
  const Alone wrong("bcast nothing-like-it");
  CHECK_FALSE(*wrong.world);
  CHECK(wrong.world->status().code() == Code::bad_argument);
  CHECK(has(wrong.world->status(), "nothing-like-it"));
}

TEST_CASE(
    "communicator: starting twice and waiting for what was not started are refused, and waiting "
    "twice is not") {
  const auto refused_by = [](const Status& status, Code code,
                             const std::string& words) -> std::string {
    if (status.code() != code || !has(status, words)) return cat("said ", status.message());
    return {};
  };
  const auto misuse = [&](const Status& status, const std::string& words) {
    return refused_by(status, Code::bad_request, words);
  };
  const auto empty = [&](const Status& status) {
    return refused_by(status, Code::bad_communicator, "this communicator is empty");
  };
  CHECK(everyone({.ranks = 2}, [&](Communicator& world) -> std::string {
          Request request = world.start(Collective::barrier());
          for (int time = 0; time < 2; ++time)
            if (const Status status = request.wait(); !status.ok()) return status.message();
          std::string wrong = misuse(request.start(), "only an operation that was prepared");
          Request prepared = world.prepare(Collective::barrier());
          if (wrong.empty()) wrong = misuse(prepared.wait(), "was not started");
          if (const Status status = prepared.start(); !status.ok()) return status.message();
          if (wrong.empty()) wrong = misuse(prepared.start(), "it was started twice");
          for (int time = 0; time < 2; ++time)
            if (const Status status = prepared.wait(); !status.ok()) return status.message();
          Request nothing;
          if (const Status status = nothing.wait(); !status.ok()) return status.message();
          if (wrong.empty()) wrong = misuse(nothing.start(), "not persistent");
          Communicator moved = std::move(world);
          if (wrong.empty()) wrong = empty(world.status());
          if (wrong.empty()) wrong = empty(world.barrier());
          if (wrong.empty()) wrong = empty(world.start(Collective::barrier()).wait());
          if (wrong.empty()) wrong = empty(world.prepare(Collective::barrier()).start());
          if (wrong.empty()) wrong = empty(world.dup().status());
          return wrong;
        }) == "");
}

TEST_CASE("communicator: a wait's limit leaves the operation as it was") {
  Alone alone;
  Request request = alone.world->start(Collective::barrier());
  CHECK_FALSE(request.test());
  CHECK(request.wait(std::chrono::nanoseconds(0)).code() == Code::timed_out);
  CHECK_FALSE(request.test());
}

// The request is destroyed before its communicator, and cancels what it had begun.
TEST_CASE("communicator: a request that goes leaves no message behind") {
  Alone alone;
  std::vector<int> message(3);
  {
    const Request request = alone.world->start(Collective::bcast(message, 1));
    CHECK(alone.network.under_way() == 1);
  }
  CHECK(alone.network.under_way() == 0);
}

TEST_CASE(
    "communicator: sizes that do not fit into 63 bits are refused, and do not begin again at 0") {
  std::vector<int> numbers(8);
  // The communicator has one rank, which waits for no other.
  REQUIRE(everyone({.ranks = 1}, [&](Communicator& world) -> std::string {
            const std::size_t wraps = std::size_t{1} << 62;
            const Status status = world.run(
                Collective::allgather(ConstBuffer(numbers.data(), wraps, 4, ElementType::int32),
                                      Buffer(numbers.data(), wraps, 4, ElementType::int32)));
            return status.code() == Code::bad_count ? "" : cat("it says ", status.message());
          }) == "");
  for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 62,
                                  std::size_t{1} << 61, (std::size_t{1} << 60) + 1}) {
    const ConstBuffer in(numbers.data(), count, 4, ElementType::int32);
    const Buffer out(numbers.data(), count, 4, ElementType::int32);
    refused(Code::bad_count, Collective::allgather(in, out), "more than 2^63 - 1 bytes");
    refused(Code::bad_count, Collective::allreduce(in, out, ReduceOp::sum),
            "more than 2^63 - 1 bytes");
    refused(Code::bad_count, Collective::alltoall(in, out), "more than 2^63 - 1 bytes");
    refused(Code::bad_count, Collective::bcast(out, 0), "more than 2^63 - 1 bytes");
    refused(Code::bad_count, Collective::allgatherv(numbers, out, {{8, 0}, {count - 8, 8}}),
            "more than 2^63 - 1 bytes");
  }
}

TEST_CASE(
    "communicator: a variable of the environment that is none, or has no such value, is an error") {
  const auto wrong_with = [](std::vector<const char*> words) {
    const auto checked = check_variables(words);
    return checked ? std::string() : checked.error().text();
  };
  CHECK(
      wrong_with({"PATH=/bin", "SCELA_COLLECT=1", "SCELA_COLL_ALLREDUCE=ring", "SCELA_COLL_TABLE=x",
                  "SCELA_COLL_CHECK=1", "SCELA_COLL_CHECK=0", "SCELA_COLL_CHECK="}) == "");
  const std::string typo = wrong_with({"SCELA_COLL_ALLREDUC=ring"});
  CHECK(typo.find("there is no such variable") != std::string::npos);
  CHECK(typo.find("SCELA_COLL_ALLREDUCE") != std::string::npos);
  CHECK(wrong_with({"SCELA_COLL_CHECK=yes"}).find("neither 0 nor 1") != std::string::npos);
  CHECK(wrong_with({"SCELA_COLL_"}) != "");
}

TEST_CASE("communicator: ranks that call with other sizes are told the rank that differs") {
  CHECK(everyone({.ranks = 2}, [](Communicator& world) -> std::string {
          std::vector<int> message(world.rank() == 0 ? 50 : 60);
          const Status status = world.run(Collective::bcast(message, 0));
          // The root's part may be complete before rank 1 has seen the message.
          const bool is_right =
              status.code() == Code::mismatch && status.rank() == 0 &&
              has(status, cat("bcast by binomial of 2 ranks, on rank ", world.rank()));
          if (!is_right && (world.rank() == 1 || !status.ok())) return status.message();
          const Status later = world.barrier();
          return later.code() == Code::mismatch && later.rank() == 0 ? "" : later.message();
        }) == "");
}

TEST_CASE("communicator: a dead rank is named by its number in the communicator") {
  MemoryNetwork network(3, 5);
  network.deliver_in_waits();
  CHECK(everyone(network, {.ranks = 3}, [&](Communicator& world) -> std::string {
          const std::vector<int> turned{2, 1, 0};
          Communicator part = world.subgroup(turned);
          if (!part) return part.status().message();
          // After this barrier no rank is between two messages of `part`.
          if (const Status status = world.barrier(); !status.ok()) return status.message();
          if (world.rank() == 2) {
            network.kill(2);
            return {};
          }
          const Status status = part.run(Collective::barrier());
          if (status.code() != Code::peer_ended || status.rank() != 0) return status.message();
          return {};
        }) == "");
}

}  // namespace
}  // namespace scela::collectives::test::bad_input_test
