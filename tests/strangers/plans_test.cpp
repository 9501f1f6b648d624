// Plans, their scenes, and what ranks have to get: without a job.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/strangers/contents.h"
#include "tests/strangers/draw.h"
#include "tests/strangers/scenes.h"
#include "tests/strangers/share.h"
#include "tests/strangers/stranger_plan.h"

namespace plans_test {

using namespace strangers;
using scela::ElementType;

Plan drawn(std::uint64_t seed, int ranks, int ends) {
  Wishes wishes;
  wishes.seed = seed;
  wishes.ranks = ranks;
  wishes.operations = 300;
  wishes.ends = ends;
  wishes.executors = {scela::ProgressMode::polled, scela::ProgressMode::engine};
  return draw(wishes);
}

Plan parsed(const std::string& text) {
  std::string wrong;
  const auto plan = parse(text, wrong);
  INFO(wrong);
  REQUIRE(plan);
  return *plan;
}

template <class Value>
std::vector<Value> values(std::span<const std::byte> bytes) {
  std::vector<Value> all(bytes.size() / sizeof(Value));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

template <class Value>
std::vector<Value> elements(const Elements& of, int rank, std::size_t count) {
  std::vector<std::byte> bytes(count * sizeof(Value));
  of.write(bytes, rank, 0);
  return values<Value>(bytes);
}

template <class Value>
std::vector<Value> reduced(const Elements& of, const std::vector<int>& ranks, std::size_t count) {
  std::vector<std::byte> bytes(count * sizeof(Value));
  of.write_reduced(bytes, ranks, 0);
  return values<Value>(bytes);
}

TEST_CASE("strangers: a plan that was drawn is read back from its text") {
  std::set<Kind> kinds;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Plan plan = drawn(seed, 1 + static_cast<int>(seed % 6), static_cast<int>(seed % 3));
    CHECK(parsed(text_of(plan)) == plan);
    for (const Step& step : plan.steps)
      kinds.insert(step.kind);
  }
  CHECK(kinds.size() == static_cast<std::size_t>(Kind::recover) + 1);
}

TEST_CASE("strangers: a text that is no plan is refused, with the line") {
  const auto refused = [](const std::string& text) {
    std::string wrong;
    CHECK_FALSE(parse(text, wrong));
    return wrong;
  };
  const std::string head = "plan seed 1 ranks 2\n";
  CHECK(refused("plan seed 1 ranks 0\n") == "not a plan: plan seed 1 ranks 0");
  CHECK(refused(head + "1 sing\n") == "not a step: 1 sing");
  CHECK(refused(head + "1 wait order any\n") == "not a step: 1 wait order any");
  CHECK(refused(head + "1 wait order any some 1 more\n").starts_with("not a step"));
  CHECK(refused(head + "2 cancel\n2 cancel\n").starts_with("its number is not above"));
}

TEST_CASE("strangers: equal seeds draw equal plans, others draw others") {
  CHECK(drawn(5, 4, 1) == drawn(5, 4, 1));
  CHECK(drawn(5, 4, 1).steps != drawn(6, 4, 1).steps);
}

TEST_CASE("strangers: communicators have the ranks that the library gives them") {
  const Plan plan = parsed(
      "plan seed 1 ranks 5\n"
      "1 world as 0 by polled check 0\n"
      "2 split of 0 as 1 colors 1,-1,0,1,0 keys 2,0,1,1,0\n"
      "3 node of 0 as 2\n"
      "4 leaders of 0 as 3\n"
      "5 subgroup of 0 as 4 ranks 3,0\n"
      "6 dup of 4 as 5\n"
      "7 end rank 3 by kill at 8\n"
      "8 shrink of 0 as 6\n"
      "9 collective of 4 operation barrier type uint8 reduction sum count 0 root 0 in_place 0 "
      "calling run times 1 algorithm -\n"
      "10 recover\n"
      "11 agree of 0\n"
      "12 agree of 6\n");
  const std::vector<Scene> scenes = scenes_of(plan, {0, 0, 1, 1, 0});
  CHECK(scenes[1].makes == Groups{{4, 2}, {3, 0}});
  CHECK(scenes[2].makes == Groups{{0, 1, 4}, {2, 3}});
  CHECK(scenes[3].makes == Groups{{0, 2}});
  CHECK(scenes[4].makes == Groups{{3, 0}});
  CHECK(scenes[5].makes == Groups{{3, 0}});
  CHECK(scenes[7].makes == Groups{{0, 1, 2, 4}});
  CHECK(scenes[8].takes_place);
  CHECK(scenes[8].endangers(scenes[8].groups.front()));
  CHECK(scenes[9].frees == std::vector{0, 1, 2, 4, 5});
  CHECK_FALSE(scenes[10].takes_place);
  CHECK(scenes[11].takes_place);
  CHECK_FALSE(scenes[11].fragile);
  CHECK(ends_of(scenes) == 1);
}

TEST_CASE("strangers: after removal of any steps, none uses a communicator that does not exist") {
  const Plan plan = drawn(3, 4, 2);
  for (std::uint64_t salt = 1; salt <= 30; ++salt) {
    Plan less = plan;
    std::erase_if(less.steps, [&](const Step& step) { return mix(salt, step.number) % 3 == 0; });
    std::set<int> there;
    for (const Scene& scene : scenes_of(less, {0, 0, 1, 1})) {
      const Step& step = *scene.step;
      if (!scene.takes_place) continue;
      if (step.kind == Kind::collective || step.kind == Kind::agree) CHECK(there.contains(step.of));
      if (makes_communicator(step.kind)) CHECK(there.insert(step.as).second);
      if (step.kind == Kind::free) CHECK(there.erase(step.of) == 1);
      for (const int freed : scene.frees)
        CHECK(there.erase(freed) == 1);
    }
  }
}

TEST_CASE("strangers: a message that may meet a later receive is short and never synchronous") {
  int early = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const Step& step : drawn(seed, 4, 0).steps)
      if (step.kind == Kind::message &&
          (step.pattern == Pattern::any || step.pattern == Pattern::any_source)) {
        ++early;
        CHECK(step.bytes <= 2000);
        CHECK(step.bytes <= step.room);
        CHECK(step.sending != Sending::issend);
      }
  CHECK(early > 100);
}

TEST_CASE("strangers: the reference reduces as the types do") {
  const std::vector<int> ranks{2, 0, 1};
  constexpr std::size_t kCount = 50;
  const auto folded = [&]<class Value>(const Elements& of, Value, auto join) {
    auto all = elements<Value>(of, ranks[0], kCount);
    for (const int rank : {ranks[1], ranks[2]}) {
      const auto more = elements<Value>(of, rank, kCount);
      for (std::size_t i = 0; i < kCount; ++i)
        all[i] = join(all[i], more[i]);
    }
    CHECK(all == reduced<Value>(of, ranks, kCount));
  };
  const auto sum = [](auto left, auto right) { return static_cast<decltype(left)>(left + right); };
  const auto least = [](auto left, auto right) { return std::min(left, right); };
  folded(Elements(ElementType::int8, Reduction::sum, 1), std::int8_t{}, sum);
  folded(Elements(ElementType::uint16, Reduction::sum, 2), std::uint16_t{}, sum);
  folded(Elements(ElementType::uint64, Reduction::minimum, 3), std::uint64_t{}, least);
  folded(Elements(ElementType::int64, Reduction::minimum, 4), std::int64_t{}, least);
  folded(Elements(ElementType::float32, Reduction::sum, 5), float{}, sum);
  folded(Elements(ElementType::float64, Reduction::product, 6), double{},
         [](double left, double right) { return left * right; });
  folded(Elements(ElementType::int32, Reduction::logical_xor, 7), std::int32_t{},
         [](std::int32_t left, std::int32_t right) { return static_cast<int>(!left != !right); });
  folded(Elements(ElementType::uint32, Reduction::bit_and, 8), std::uint32_t{},
         [](std::uint32_t left, std::uint32_t right) { return left & right; });
}

TEST_CASE("strangers: halves have the bits of the numbers that they stand for") {
  const std::map<double, std::uint16_t> half{{-8, 0xc800}, {-1, 0xbc00}, {0, 0},     {1, 0x3c00},
                                             {3, 0x4200},  {7, 0x4700},  {8, 0x4800}};
  const std::map<double, std::uint16_t> brain{{-8, 0xc100}, {-1, 0xbf80}, {0, 0},     {1, 0x3f80},
                                              {3, 0x4040},  {7, 0x40e0},  {8, 0x4100}};
  // The numbers are the same in all types of the kind.
  const auto numbers = elements<double>({ElementType::float64, Reduction::sum, 9}, 0, 200);
  const auto halves = elements<std::uint16_t>({ElementType::float16, Reduction::sum, 9}, 0, 200);
  const auto brains = elements<std::uint16_t>({ElementType::bfloat16, Reduction::sum, 9}, 0, 200);
  std::set<double> seen;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!half.contains(numbers[i])) continue;
    seen.insert(numbers[i]);
    CHECK(halves[i] == half.at(numbers[i]));
    CHECK(brains[i] == brain.at(numbers[i]));
  }
  CHECK(seen.size() == half.size());
}

TEST_CASE("strangers: the program's own reduction depends on the order, and not on brackets") {
  const Elements of(ElementType::opaque, Reduction::own_affine, 4);
  CHECK(reduced<std::uint64_t>(of, {0, 1}, 20) != reduced<std::uint64_t>(of, {1, 0}, 20));
  const scela::Reducer reducer = reducer_of(Reduction::own_affine);
  CHECK_FALSE(reducer.commutes());
  auto right = elements<std::uint64_t>(of, 2, 20);
  for (const int rank : {1, 0}) {
    const auto left = elements<std::uint64_t>(of, rank, 20);
    auto* const bytes = reinterpret_cast<std::byte*>(right.data());
    (*reducer.function())(reinterpret_cast<const std::byte*>(left.data()), bytes, bytes, 20);
  }
  CHECK(right == reduced<std::uint64_t>(of, {0, 1, 2}, 20));
}

TEST_CASE("strangers: one byte that differs is found, and one that is written beside a buffer") {
  Buffer buffer(9000, 3);
  fill(buffer.bytes(), 7, 5);
  CHECK_FALSE(difference(buffer.bytes(), 7, 5));
  CHECK(difference(buffer.bytes(), 7, 6));
  CHECK_FALSE(difference(buffer.bytes().subspan(1234), 7, 1239));
  buffer.bytes()[8191] ^= std::byte{1};
  CHECK(difference(buffer.bytes(), 7, 5)->starts_with("byte 8191 of 9000 is "));
  CHECK_FALSE(buffer.damage());
  std::byte& behind = *(buffer.bytes().data() + buffer.bytes().size());
  behind = std::byte{1};
  CHECK(buffer.damage() == "byte 9000 of a buffer of 9000 was written");
  behind = std::byte{0xa5};
  *(buffer.bytes().data() - 1) = std::byte{1};
  CHECK(buffer.damage() == "a byte 1 before the buffer was written");
}

Step step_of(Operation operation, ElementType type, std::uint64_t count) {
  Step step;
  step.number = 12;
  step.kind = Kind::collective;
  step.operation = operation;
  step.type = type;
  step.count = count;
  step.root = 1;
  return step;
}

std::vector<std::byte> some(std::span<const std::byte> of, std::size_t from, std::size_t count) {
  const auto part = of.subspan(from, count);
  return {part.begin(), part.end()};
}

TEST_CASE("strangers: the expected input of a rank is the output of others") {
  const Group group{3, 0, 2};
  constexpr std::size_t kBlock = 10;
  const auto shares = [&](const Step& step) {
    std::vector<Share> all;
    for (const int rank : group)
      all.emplace_back(step, group, rank, 1).fill(1);
    return all;
  };
  SECTION("alltoall") {
    const Step step = step_of(Operation::alltoall, ElementType::uint8, kBlock);
    const auto all = shares(step);
    for (std::size_t from = 0; from < 3; ++from)
      for (std::size_t to = 0; to < 3; ++to)
        CHECK(some(all[to].expected(), from * kBlock, kBlock) ==
              some(all[from].given(), to * kBlock, kBlock));
  }
  SECTION("gather") {
    const Step step = step_of(Operation::gather, ElementType::uint8, kBlock);
    const auto all = shares(step);
    CHECK(all[0].expected().empty());
    for (std::size_t from = 0; from < 3; ++from)
      CHECK(some(all[1].expected(), from * kBlock, kBlock) == some(all[from].given(), 0, kBlock));
  }
  SECTION("scan") {
    Step step = step_of(Operation::scan, ElementType::uint32, kBlock);
    const auto all = shares(step);
    auto sums = values<std::uint32_t>(all[0].given());
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto more = values<std::uint32_t>(all[rank].given());
      for (std::size_t i = 0; rank > 0 && i < kBlock; ++i)
        sums[i] += more[i];
      CHECK(values<std::uint32_t>(all[rank].expected()) == sums);
    }
  }
  SECTION("reduce_scatter_block") {
    const Step step = step_of(Operation::reduce_scatter_block, ElementType::uint8, kBlock);
    const auto all = shares(step);
    for (std::size_t to = 0; to < 3; ++to)
      for (std::size_t i = 0; i < kBlock; ++i) {
        unsigned sum = 0;
        for (const Share& from : all)
          sum += std::to_integer<unsigned>(from.given()[to * kBlock + i]);
        CHECK(std::to_integer<unsigned>(all[to].expected()[i]) == sum % 256);
      }
  }
}

TEST_CASE(
    "strangers: an output that is not what it has to be is wrong, and an input that changed") {
  const Group group{0, 1};
  for (const Operation operation :
       {Operation::bcast, Operation::allreduce, Operation::allgather, Operation::alltoallv,
        Operation::reduce_scatter, Operation::scatterv}) {
    const Step step = step_of(operation, ElementType::int32, 40);
    Share share(step, group, 0, 1);
    share.fill(0);
    CHECK(share.wrong());
    std::ranges::copy(share.expected(), share.output().bytes().begin());
    CHECK(share.wrong().value_or("right") == "right");
    if (share.given().empty()) continue;
    share.input().bytes()[3] ^= std::byte{8};
    CHECK(share.wrong()->starts_with("its input was changed: byte 3 of "));
  }
}

}  // namespace plans_test
