// Runs two nodes with a program each on interpreters without processes, and carries frames between
// them.
#pragma once

#include <catch2/catch.hpp>

#include "common/core/random.h"
#include "tests/unit/hca/core/fabric_model.h"

namespace scela::hca::test {

inline Settings node(std::uint16_t lid) {
  Settings settings;
  settings.first_lid = lid;
  settings.gid.bytes[0] = 0xFD;
  settings.gid.bytes[8] = static_cast<std::uint8_t>(lid);
  return settings;
}

// Two nodes with a program each, and the frames between them.
struct Nodes {
  // The memory of the processes in `distant` is not reached at once.
  explicit Nodes(const std::set<ProcessId>& distant = {})
      : left(node(1)),
        right(node(11)),
        a(prepare(left, distant), 1),
        b(prepare(right, distant), 2) {
    left.machine.nodes[11] = 2;
    right.machine.nodes[1] = 1;
  }
  static Fabric& prepare(Fabric& fabric, const std::set<ProcessId>& distant) {
    fabric.machine.distant = distant;
    return fabric;
  }
  bool carry(Fabric& from, std::uint32_t number, Fabric& to) {
    if (from.machine.frames.empty()) return false;
    const Machine::Frame frame = std::move(from.machine.frames.front());
    from.machine.frames.pop_front();
    CHECK(to.engine.receive(number, frame.bytes, to.now));
    if (from.machine.frames.size() + 1 == from.machine.max_frames)
      from.engine.writable(number == 1 ? 2 : 1);
    return true;
  }
  // Runs until nothing can be done at once. Frames of the two directions come in any order.
  void run(std::uint64_t seed = 1) {
    Random random(seed);
    bool more = true;
    while (more) {
      left.run();
      right.run();
      const bool first = random.chance(1, 2);
      more = first ? carry(left, 1, right) || carry(right, 2, left)
                   : carry(right, 2, left) || carry(left, 1, right);
    }
  }
  bool advance() {
    const auto l = left.engine.deadline(), r = right.engine.deadline();
    if (!l && !r) return false;
    left.now = right.now = std::max(left.now, std::min(l.value_or(~0ULL), r.value_or(~0ULL)));
    run();
    return true;
  }
  void connect_both(QpType type, const Way& way = {}) {
    qa = a.make_qp(type);
    qb = b.make_qp(type);
    Way there = way, back = way;
    there.lid = 11;
    back.lid = 1;
    REQUIRE(connect(a, qa, type, qb.handle, there) == 0);
    REQUIRE(connect(b, qb, type, qa.handle, back) == 0);
  }
  Fabric left, right;
  Program a, b;
  QueuePair qa, qb;
};

inline Buffer pattern(Program& program, std::size_t bytes) {
  Buffer made = program.buffer(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    made.bytes[i] = static_cast<std::byte>(i * 31 >> 3);
  return made;
}

}  // namespace scela::hca::test
