// Tests what is measured, with a contestant that only notes what it is asked for.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "perf/rank_words.h"
#include "perf/timed_loops.h"

namespace scela::perf::timed_loops_test {
namespace {

class Noting {
 public:
  static int rank() { return 0; }
  static int size() { return 2; }
  static int nodes() { return 2; }
  void send(int, const void*, std::size_t n) { measured.insert(n); }
  void recv(int, void*, std::size_t n) { measured.insert(n); }
  void begin_send(int, const void*, std::size_t n) { measured.insert(n); }
  void begin_recv(int, void*, std::size_t n) { measured.insert(n); }
  void finish() {}
  void send_aside(int, const void*, std::size_t n) { aside.insert(n); }
  void recv_aside(int, void*, std::size_t n) { aside.insert(n); }
  static void tell(Cost&) {}

  std::set<std::size_t> measured, aside;
};

// Messages of other lengths would make the channel, and other libraries, send the measured ones in
// another way.
TEST_CASE("perf: measured messages have a tag of their own and equal lengths") {
  for (const char* const bench : {"latency", "bandwidth", "bidirectional", "overlap", "noise"}) {
    CAPTURE(bench);
    Plan plan;
    plan.bench = bench;
    plan.sizes = {48};
    plan.rounds = 2;
    plan.round_seconds = 1e-5;
    plan.delay_seconds = 0;
    plan.driver = -1;  // no process, so it started none
    Noting peer;
    CHECK(Loops<Noting>(peer, plan).run("nobody"));
    CHECK(peer.measured == std::set<std::size_t>{48});
    CHECK_FALSE(peer.aside.empty());
  }
}

// Notes which operations it is asked for.
class Collecting : public Noting {
 public:
  void collective(const CollectiveCall& asked) { take(asked, blocking); }
  void begin_collective(const CollectiveCall& asked) {
    take(asked, begun);
    buffers.insert(asked.out);
  }
  void progress_collectives() {
    if (finished == begun / together) wrong = true;  // no operation is under way
    ++helped;
    ++since;
  }
  void finish_collectives() {
    ++finished;
    helps.insert(since);
    since = 0;
  }
  ExecutorAndAlgorithm means(const CollectiveCall& asked) {
    last = asked;
    return {"nobody", "by hand"};
  }

  int blocking = 0, begun = 0, finished = 0, together = 1;
  int helped = 0, since = 0;
  bool wrong = false;
  std::set<int> helps;  // the helps for one operation
  std::set<int> roots;
  std::set<const char*> buffers;
  CollectiveCall last;

 private:
  void take(const CollectiveCall& asked, int& count) {
    ++count;
    roots.insert(asked.root);
    // Blocks for each rank can be read and written.
    asked.out[asked.bytes * 2 - 1] = asked.in[asked.bytes * 2 - 1];
  }
};

Plan collective_plan(const char* op) {
  Plan plan;
  plan.bench = "coll";
  plan.ops = {op};
  plan.sizes = {48};
  plan.rounds = 2;
  plan.round_seconds = 1e-5;
  plan.driver = -1;
  return plan;
}

TEST_CASE("perf: collective operations are timed blocking and not, and roots go round") {
  for (const char* const op : {"allreduce", "bcast"}) {
    CAPTURE(op);
    Collecting peer;
    const Plan plan = collective_plan(op);
    CHECK(Loops<Collecting>(peer, plan).run("nobody"));
    CHECK(peer.blocking > 0);
    CHECK(peer.begun == peer.finished);
    CHECK(peer.begun > 0);
    CHECK(peer.last.bytes == 48);
    CHECK(peer.roots == (std::string(op) == "bcast" ? std::set<int>{0, 1} : std::set<int>{0}));
  }
  Collecting peer;
  const Plan unknown = collective_plan("alreduce");
  CHECK_FALSE(Loops<Collecting>(peer, unknown).run("nobody"));
  // A contestant without collective operations reports an error.
  Noting other;
  const Plan plan = collective_plan("bcast");
  CHECK_FALSE(Loops<Noting>(other, plan).run("nobody"));
}

TEST_CASE("perf: concurrent collective operations have buffers of their own, and end together") {
  Collecting peer;
  Plan plan = collective_plan("alltoall");
  plan.concurrent = 16;
  CHECK(Loops<Collecting>(peer, plan).run("nobody"));
  CHECK(peer.blocking == 0);
  CHECK(peer.begun == 16 * peer.finished);
  CHECK(peer.buffers.size() == 16);
}

// Requirement N5 (docs/coverage.md).
TEST_CASE(
    "perf: operations are helped on once every so many bytes, beside the same work in parts") {
  Collecting peer;
  Plan plan = collective_plan("allreduce");
  plan.sizes = {4096};
  CHECK(Loops<Collecting>(peer, plan).run("nobody"));
  CHECK(peer.helped == 0);
  plan.progress = {4096, 1000, 8192};
  CHECK(Loops<Collecting>(peer, plan).run("nobody"));
  CHECK_FALSE(peer.wrong);
  CHECK(peer.helps == std::set<int>{0, 1, 4});  // 0: the size is less than 8192
  CHECK(progress_calls(4096, 1000) == 4);
  CHECK(progress_calls(0, 1000) == 0);
  CHECK(progress_calls(4096, 0) == 0);
}

TEST_CASE("perf: work in parts is as much as in one, with a call between each two") {
  const Work work;
  int calls = 0;
  work.parts(0, 5, [&] { ++calls; });
  CHECK(calls == 5);
  work.parts(3, 0, [&] { ++calls; });
  CHECK(calls == 5);
}

TEST_CASE("perf: words of a rank come back from the driver's, and others are refused") {
  const auto read = [](std::vector<std::string> words, Plan& plan, RankBinding& where) {
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    return read_words(static_cast<int>(argv.size()), argv.data(), plan, where);
  };
  std::vector<std::string> words{"scela-perf", "--rank", "coll", "8,64",     "3", "0.01",
                                 "64",         "apart",  "all",  "0.1",      "7", "bcast,barrier",
                                 "ring",       "engine", "16",   "1024,2048"};
  Plan plan;
  RankBinding where = RankBinding::free;
  REQUIRE(read(words, plan, where));
  CHECK(plan.sizes == std::vector<std::size_t>{8, 64});
  CHECK(plan.progress == std::vector<std::size_t>{1024, 2048});
  CHECK(where == RankBinding::apart);
  CHECK(plan.ops == std::vector<std::string>{"bcast", "barrier"});
  CHECK(plan.concurrent == 16);
  words[7] = "pin";
  words[15] = "-";
  Plan other;
  REQUIRE(read(words, other, where));
  CHECK(where == RankBinding::own);
  CHECK(other.progress.empty());
  words[15] = "often";
  Plan wrong;
  CHECK_FALSE(read(words, wrong, where));
  words.pop_back();
  CHECK_FALSE(read(words, wrong, where));
}

TEST_CASE("perf: memory is read from the system's words") {
  const std::string text = "00400000 [rollup]\nRss:    1200 kB\nPss:  900 kB\nPss_Dirty:  8 kB\n";
  CHECK(kib_of(text, "Rss:") == 1200);
  CHECK(kib_of(text, "Pss:") == 900);
  CHECK(kib_of(text, "Swap:") == 0);
  const Memory own = memory_of(::getpid());
  CHECK(own.resident > 0);
  CHECK(own.proportional <= own.resident);
  CHECK(own.own <= own.proportional);
  CHECK(own.shared <= own.resident);
  Memory twice = own;
  twice += own;
  CHECK(twice.resident == 2 * own.resident);
}

TEST_CASE("perf: a census has the mean and the maximum, and leaves out missing figures") {
  std::vector<Cost> all(2);
  all[0].connections = 1;
  all[1].connections = 4;
  all[0].process = all[1].process = static_cast<double>(::getpid());
  Line line;
  count_costs(all, -1, line);
  const auto value = [&](const std::string& name) {
    for (const auto& [known, numbers] : line.values)
      if (known == name) return numbers.at(0);
    return -1.0;
  };
  CHECK(value("connections") == 2.5);
  CHECK(value("max_connections") == 4);
  CHECK(value("engine_queue_pairs") == -1);
  CHECK(value("partners") == -1);
  CHECK(value("kib_rank_resident") > 0);
  CHECK(value("kib_others") == 0);
}

}  // namespace
}  // namespace scela::perf::timed_loops_test
