// Tests the benefit of the doubt of ranks that connect by themselves. rank_listener_test.cpp has
// the connections.
#include "nla/pmi/rank_port.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <utility>

#include "common/os/asio.h"

namespace rank_port_test {

using namespace scela;
using namespace scela::nla;

namespace {

Job port_job() {
  Job job;
  job.map = RankMap::from_blocks({{0, 1, 2}});
  job.pmi = PmiKind::port;
  return job;
}

struct Fixture {
  boost::asio::io_context io{1};
  ReadBuffer buffer;
  Tracer tracer;
  int turns = 0;
  RanksHost host{io,      buffer,  tracer, nullptr, [](const Event&) {}, [this] { ++turns; },
                 nullptr, nullptr, nullptr};
  Job job = port_job();
  RankSet running = RankSet::run(0, 2);
  std::unique_ptr<RankPort> port =
      RankPort::open(host, job, RankSet::run(0, 2), "node",
                     {[this](Rank rank) { return running.contains(rank) ? 1 : 0; },
                      [](Rank, Fd, const std::string&) {}})
          .value();
};

}  // namespace

TEST_CASE("a port is for the protocols with ranks that connect by themselves") {
  CHECK(RankPort::is_needed(PmiKind::port));
  CHECK(RankPort::is_needed(PmiKind::pmgr));
  CHECK(RankPort::is_needed(PmiKind::pmgr_mvapich1));
  CHECK_FALSE(RankPort::is_needed(PmiKind::fd));
  CHECK_FALSE(RankPort::is_needed(PmiKind::pmix));
  CHECK_FALSE(RankPort::is_needed(PmiKind::none));
}

TEST_CASE("a suspected rank is judged a second later, and not if it has ended") {
  Fixture f;
  CHECK(f.port->number() != 0);
  CHECK_FALSE(f.port->believe_claim(0));
  int judged = 0;
  f.port->doubt(0, [&] { ++judged; });
  f.port->doubt(1, [&] { judged += 10; });
  f.running.remove(RankSet::single(1));
  f.io.run_for(std::chrono::milliseconds(200));
  CHECK(judged == 0);
  f.io.restart();
  f.io.run_for(std::chrono::milliseconds(1500));
  CHECK(judged == 1);
  CHECK(f.turns == 2);
}

}  // namespace rank_port_test
