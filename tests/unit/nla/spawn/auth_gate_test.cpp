#include <catch2/catch.hpp>

#include "nla/spawn/auth_gate.h"

namespace auth_gate_test {

using namespace scela::nla;

namespace {

// The state of each session that entered: 0 if it waits, 1 if it goes, -1 if it was turned away.
struct Sessions {
  explicit Sessions(AuthGate& gate, int count) : state(static_cast<std::size_t>(count), 0) {
    for (int& one : state)
      gate.enter([&one](bool go) { one = go ? 1 : -1; });
  }
  std::vector<int> state;
};

}  // namespace

TEST_CASE("the first session authenticates alone, the others go when it was accepted") {
  AuthGate gate(true);
  const Sessions sessions(gate, 3);
  CHECK(sessions.state == std::vector<int>{1, 0, 0});
  gate.answer(true);
  CHECK(sessions.state == std::vector<int>{1, 1, 1});
  const Sessions later(gate, 1);
  CHECK(later.state == std::vector<int>{1});
  gate.answer(false);  // one bad host later on does not close it
  CHECK_FALSE(gate.closed());
}

TEST_CASE("one refusal turns all others away") {
  AuthGate gate(true);
  const Sessions sessions(gate, 3);
  gate.answer(false);
  CHECK(gate.closed());
  CHECK(sessions.state == std::vector<int>{1, -1, -1});
  const Sessions later(gate, 1);
  CHECK(later.state == std::vector<int>{-1});
}

TEST_CASE("a first session that gets no answer lets the next one try") {
  AuthGate gate(true);
  const Sessions sessions(gate, 3);
  gate.left();
  CHECK(sessions.state == std::vector<int>{1, 1, 0});
  gate.left();
  gate.left();
  CHECK(sessions.state == std::vector<int>{1, 1, 1});
  const Sessions later(gate, 1);
  CHECK(later.state == std::vector<int>{1});
}

TEST_CASE("scela-run's own gate is open from the start and stays so") {
  AuthGate gate(false);
  const Sessions sessions(gate, 2);
  CHECK(sessions.state == std::vector<int>{1, 1});
  gate.answer(false);
  CHECK_FALSE(gate.closed());
}

}  // namespace auth_gate_test
