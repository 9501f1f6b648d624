// Judges CALC: the results, and the requests that are refused.
#include <cerrno>
#include <cstring>

#include "tests/verbs/tasks/tasks_world.h"

namespace semantics {
namespace {

struct Numbers {
  World world;
  ibv_cq* done = world.cq();
  ibv_qp* manager = world.mq(done);

  template <class T>
  void put(size_t at, std::initializer_list<T> values) {
    std::memcpy(world.memory(at), values.begin(), values.size() * sizeof(T));
  }
  template <class T>
  T get(size_t at, size_t index) {
    T value{};
    std::memcpy(&value, world.memory(at) + index * sizeof(T), sizeof value);
    return value;
  }
};

void sums() {
  Numbers n;
  n.put<double>(0, {1, 2, 3});
  n.put<double>(256, {10, 20, 30});
  n.put<double>(512, {100, 200, 300});
  ibv_sge pieces[] = {n.world.piece(1024, 24), n.world.piece(0, 24), n.world.piece(256, 24),
                      n.world.piece(512, 24)};
  post(n.manager, calc(SCELA_CALC_SUM, SCELA_CALC_DOUBLE, pieces, 4));
  expect_task("a sum", n.done, 4, SCELA_TASK_CALC);
  expect(n.get<double>(1024, 0) == 111 && n.get<double>(1024, 2) == 333, "the sum is wrong");
  // The result goes into one of the operands.
  pieces[0] = pieces[1];
  post(n.manager, calc(SCELA_CALC_MAX, SCELA_CALC_DOUBLE, std::span(pieces, 3), 5));
  expect_task("in place", n.done, 5, SCELA_TASK_CALC);
  expect(n.get<double>(0, 1) == 20, "the maximum is wrong");
}

void integers() {
  Numbers n;
  n.put<uint32_t>(0, {0xFFFFFFFF, 6});
  n.put<uint32_t>(256, {2, 3});
  ibv_sge pieces[] = {n.world.piece(1024, 8), n.world.piece(0, 8), n.world.piece(256, 8)};
  struct {
    scela_calc_op op;
    uint32_t first, second;
  } const expected[] = {{SCELA_CALC_SUM, 1, 9},
                        {SCELA_CALC_MIN, 2, 3},
                        {SCELA_CALC_AND, 2, 2},
                        {SCELA_CALC_OR, 0xFFFFFFFF, 7},
                        {SCELA_CALC_XOR, 0xFFFFFFFD, 5}};
  for (const auto& one : expected) {
    post(n.manager, calc(one.op, SCELA_CALC_UINT32, pieces, 1));
    expect_task("a calculation", n.done, 1, SCELA_TASK_CALC);
    expect_equal("the first element", one.first, n.get<uint32_t>(1024, 0));
    expect_equal("the second element", one.second, n.get<uint32_t>(1024, 1));
  }
}

// The calculations have the largest size. The second reads the result of the first, so it must not
// begin before.
void large() {
  Numbers n;
  constexpr uint32_t kBytes = 1 << 20;
  for (size_t i = 0; i < kBytes; ++i) {
    n.world.memory(kBytes)[i] = static_cast<uint8_t>(i);
    n.world.memory(2 * kBytes)[i] = static_cast<uint8_t>(i >> 8);
  }
  ibv_sge first[] = {n.world.piece(0, kBytes), n.world.piece(kBytes, kBytes),
                     n.world.piece(2 * kBytes, kBytes)};
  ibv_sge second[] = {n.world.piece(3 * kBytes, kBytes), n.world.piece(0, kBytes),
                      n.world.piece(kBytes, kBytes)};
  post(n.manager, calc(SCELA_CALC_XOR, SCELA_CALC_INT64, first, 1));
  post(n.manager, calc(SCELA_CALC_XOR, SCELA_CALC_INT64, second, 2));
  expect_task("the first", n.done, 1, SCELA_TASK_CALC);
  expect_task("the second", n.done, 2, SCELA_TASK_CALC);
  expect(std::memcmp(n.world.memory(3 * kBytes), n.world.memory(2 * kBytes), kBytes) == 0,
         "the second was calculated from what the first had not written");
}

void refused_at_once() {
  Numbers n;
  ibv_sge pieces[] = {n.world.piece(0, 8), n.world.piece(64, 8), n.world.piece(128, 8)};
  expect_error("bits of a floating number", EINVAL,
               try_post(n.manager, calc(SCELA_CALC_XOR, SCELA_CALC_DOUBLE, pieces)));
  expect_error("no operand", EINVAL,
               try_post(n.manager, calc(SCELA_CALC_SUM, SCELA_CALC_DOUBLE, std::span(pieces, 1))));
  expect_error("an operation that there is not", EINVAL,
               try_post(n.manager, calc(static_cast<scela_calc_op>(7), SCELA_CALC_INT32, pieces)));
}

// The error is found when the task is executed. The queue goes to ERR, and the requests behind it
// are flushed.
void lengths() {
  for (const uint32_t wrong : {0U, 1U, 2U}) {
    Numbers n;
    ibv_sge pieces[] = {n.world.piece(0, 8), n.world.piece(64, 8), n.world.piece(128, 8)};
    if (wrong == 0) pieces[2].length = 16;
    if (wrong == 1)
      for (ibv_sge& piece : pieces)
        piece.length = 12;
    if (wrong == 2)
      for (ibv_sge& piece : pieces)
        piece.length = (1 << 20) + 8;
    post(n.manager, calc(SCELA_CALC_SUM, SCELA_CALC_DOUBLE, pieces, 1));
    expect_next("a length that is wrong", n.done, 1, IBV_WC_LOC_LEN_ERR);
    post(n.manager, wait(n.done, 0, true, 2));
    expect_next("what comes after", n.done, 2, IBV_WC_WR_FLUSH_ERR);
  }
}

void no_memory() {
  Numbers n;
  ibv_sge pieces[] = {n.world.piece(0, 8), {4096 * 3, 8, n.world.piece(0, 8).lkey}};
  post(n.manager, calc(SCELA_CALC_SUM, SCELA_CALC_DOUBLE, pieces, 1));
  expect_next("an address where nothing is", n.done, 1, IBV_WC_LOC_PROT_ERR);
}

constexpr Case kCases[] = {
    {"tasks.calc-sums", sums},       {"tasks.calc-integers", integers},
    {"tasks.calc-large", large},     {"tasks.calc-refused", refused_at_once},
    {"tasks.calc-lengths", lengths}, {"tasks.calc-no-memory", no_memory},
};

}  // namespace

std::span<const Case> calc_cases() {
  return kCases;
}

}  // namespace semantics
