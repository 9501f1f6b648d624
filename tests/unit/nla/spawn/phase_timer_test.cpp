#include "nla/spawn/phase_timer.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>

namespace phase_timer_test {

using namespace scela;
using namespace scela::nla;
using namespace std::chrono_literals;

TEST_CASE("a phase has its limit") {
  boost::asio::io_context io;
  PhaseTimer timer(io);
  const auto begun = Alarm::Clock::now();
  int passed = 0;
  timer.begin(5ms, [&] { ++passed; });
  io.run();
  CHECK(passed == 1);
  CHECK(Alarm::Clock::now() - begun >= 5ms);
}

TEST_CASE("a phase that is over has no limit") {
  boost::asio::io_context io;
  PhaseTimer timer(io);
  int passed = 0;
  timer.begin(1ms, [&] { ++passed; });
  timer.end();
  io.run();
  CHECK(passed == 0);
}

TEST_CASE("a phase gets its limit again if the process did not run meanwhile") {
  boost::asio::io_context io;
  PhaseTimer timer(io);
  std::string order;
  timer.begin(1ms, [&] { order += "passed "; });
  std::this_thread::sleep_for(300ms);  // as a process that was stopped
  Alarm answer(io);
  answer.set(0ms, [&] { order += "answer "; });
  io.run();
  CHECK(order == "answer passed ");
}

// The process was stopped in one phase. When it goes on, the answer that ends this phase and the
// end of its limit are due at once.
TEST_CASE("the limit of a phase that has just ended does not end the next one") {
  boost::asio::io_context io;
  PhaseTimer timer(io);
  std::string ended;
  Alarm answer(io);
  answer.set(0ms, [&] {
    timer.begin(1h, [&] { ended += "second "; });
    boost::asio::post(io, [&] { timer.end(); });
  });
  timer.begin(1ms, [&] { ended += "first "; });
  while (Alarm::Clock::now() <= answer.expiry() + 2ms) {
  }
  io.run();
  CHECK(ended.empty());
}

}  // namespace phase_timer_test
