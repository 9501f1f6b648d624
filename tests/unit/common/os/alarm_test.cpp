#include "common/os/alarm.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

namespace alarm_test {

using namespace scela;
using namespace std::chrono_literals;

namespace {

// Two alarms that are due at once. Asio queues both handlers before it runs the first.
struct TwoDue {
  template <typename First>
  explicit TwoDue(First first_handler) {
    first.set(1ns, [this, first_handler] { first_handler(*this); });
    second->set(2ns, [this] { ran += "stale "; });
    while (Alarm::Clock::now() <= second->expiry()) {
    }
    io.poll();
  }
  boost::asio::io_context io{1};
  Alarm first{io};
  std::optional<Alarm> second{std::in_place, io};
  std::string ran;
};

}  // namespace

TEST_CASE("an alarm's handler runs once after its delay") {
  boost::asio::io_context io;
  Alarm alarm(io);
  int ran = 0;
  const auto before = Alarm::Clock::now();
  alarm.set(1ms, [&] { ++ran; });
  io.run();
  CHECK(ran == 1);
  CHECK(Alarm::Clock::now() - before >= 1ms);
}

TEST_CASE("an alarm that is set again drops the handler that is queued already") {
  TwoDue due([](TwoDue& both) { both.second->set(1h, [] {}); });
  CHECK(due.ran.empty());
  due.second->set(0ns, [&] { due.ran += "new"; });
  due.io.run();
  CHECK(due.ran == "new");
}

TEST_CASE("an alarm that is cancelled drops the handler that is queued already") {
  const TwoDue due([](TwoDue& both) { both.second->cancel(); });
  CHECK(due.ran.empty());
}

TEST_CASE("an alarm that is destroyed drops the handler that is queued already") {
  const TwoDue due([](TwoDue& both) { both.second.reset(); });
  CHECK(due.ran.empty());
}

TEST_CASE("an alarm's handler may set it again, and may destroy it") {
  boost::asio::io_context io;
  std::optional<Alarm> alarm(std::in_place, io);
  int ran = 0;
  alarm->set(0ns, [&] {
    ++ran;
    alarm->set(0ns, [&] {
      ++ran;
      alarm.reset();
    });
  });
  io.run();
  CHECK(ran == 2);
}

}  // namespace alarm_test
