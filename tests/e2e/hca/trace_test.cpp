// The engine's reports: a trace of the tasks that it executes, and its counters.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "common/os/clock.h"
#include "tests/e2e/hca/verbs_program.h"
#include "tests/support/eventually.h"
#include "tests/support/output_of.h"
#include "tests/support/stop.h"

namespace trace_test {

using namespace scela;
using namespace scela::test;
using Json = nlohmann::json;

namespace {

constexpr std::uint32_t kLinks = 50;

// Values that two processes exchange.
struct Shared {
  std::atomic<std::uint32_t> ready{0};
  std::uint32_t numbers[2] = {};  // of the poster's queue pairs
  std::uint32_t partners[2] = {};
  std::atomic<std::uint32_t> go{0};
};

// Posts a chain: each link waits for an arrival and releases a send. Never returns.
void post_chain(Shared* shared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Verbs verbs;
  ibv_cq* sent = verbs.cq();
  ibv_cq* arrivals = verbs.cq(kLinks);
  ibv_qp* in = verbs.rc(sent, arrivals, 0, kLinks);
  ibv_qp* out = verbs.rc(sent, sent, SCELA_QP_MANAGED_SEND, kLinks);
  ibv_qp* manager = verbs.mq(sent, 2 * kLinks);
  ibv_qp* last = verbs.mq(sent);
  shared->numbers[0] = in->qp_num;
  shared->numbers[1] = out->qp_num;
  tell(shared->ready, 1);
  until(shared->go, 1);
  verbs.connect(in, shared->partners[0]);
  verbs.connect(out, shared->partners[1]);
  for (std::uint32_t i = 0; i < kLinks; ++i) {
    post_recv(in, {});
    post_send(out, {});
    post(manager, wait(arrivals, 1, true));
    post(manager, enable(out, 1));
  }
  // This task comes after the others: once it is executed, the engine has seen them.
  scela_task seen = enable(verbs.rc(sent, sent, SCELA_QP_MANAGED_SEND), 1);
  seen.send_flags = IBV_SEND_SIGNALED;
  post(last, seen);
  next(sent);
  tell(shared->ready, 2);
  for (;;)
    ::pause();
}

// Counts the events of one process that ended within a time (microseconds).
std::map<std::string, std::uint32_t> ended_within(const Json& events, pid_t pid, double from,
                                                  double to) {
  std::map<std::string, std::uint32_t> counts;
  for (const Json& event : events) {
    if (event["pid"] != pid || !event.contains("ts")) continue;
    const double end = event["ts"].get<double>() + event.value("dur", 0.0);
    if (end >= from && end <= to) ++counts[event["name"].get<std::string>()];
  }
  return counts;
}

}  // namespace

TEST_CASE("hca trace: the engine is seen to execute a chain while its poster is stopped") {
  const Place place;
  const std::string file = place.path + "/trace.json";
  ::setenv("SCELA_HCA_TRACE", file.c_str(), 1);
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* shared = new (memory) Shared;
  const pid_t poster = ::fork();
  REQUIRE(poster >= 0);
  if (poster == 0) post_chain(shared);
  double from = 0, to = 0;
  {
    Verbs verbs;
    ibv_cq* sent = verbs.cq();
    ibv_cq* came = verbs.cq(kLinks);
    until(shared->ready, 1);
    ibv_qp* out = verbs.rc(sent, sent, 0, kLinks);
    ibv_qp* in = verbs.rc(sent, came, 0, kLinks);
    verbs.connect(out, shared->numbers[0]);
    verbs.connect(in, shared->numbers[1]);
    for (std::uint32_t i = 0; i < kLinks; ++i)
      post_recv(in, {});
    shared->partners[0] = out->qp_num;
    shared->partners[1] = in->qp_num;
    tell(shared->go, 1);
    until(shared->ready, 2);
    stop(poster);
    from = static_cast<double>(monotonic_ns()) / 1e3;
    for (std::uint32_t i = 0; i < kLinks; ++i)
      post_send(out, {});
    for (std::uint32_t i = 0; i < kLinks; ++i)
      CHECK(next(came).status == IBV_WC_SUCCESS);
    // The receiver is told of a message before the engine is done with its sender. When the engine
    // answers, it is done.
    static_cast<void>(verbs.cq());
    to = static_cast<double>(monotonic_ns()) / 1e3;
    int status = 0;
    CHECK(::kill(poster, SIGKILL) == 0);
    CHECK(::waitpid(poster, &status, 0) == poster);
  }
  ::unsetenv("SCELA_HCA_TRACE");
  ::munmap(memory, sizeof(Shared));

  // The trace is whole once the engine has seen its last process go.
  Json events;
  const bool whole = eventually([&] {
    std::ifstream in(file);
    events = Json::parse(in, nullptr, false);
    return events.is_array() && ended_within(events, poster, from, to)["send"] == kLinks &&
           ::access((place.path + "/socket").c_str(), F_OK) != 0;
  });
  CHECK(whole);
  const auto executed = ended_within(events, poster, from, to);
  for (const char* name : {"wait", "send_enable", "send"}) {
    INFO(name);
    CHECK((executed.contains(name) ? executed.at(name) : 0) == kLinks);
  }
  CHECK_FALSE(executed.contains("posted send"));
  CHECK_FALSE(executed.contains("posted wait"));
  const auto before = ended_within(events, poster, 0, from);
  CHECK((before.contains("posted send") ? before.at("posted send") : 0) == kLinks);
  const auto by_the_other = ended_within(events, ::getpid(), from, to);
  for (const char* name : {"posted send", "send"}) {
    INFO(name);
    CHECK((by_the_other.contains(name) ? by_the_other.at(name) : 0) == kLinks);
  }
  ::unlink(file.c_str());
}

TEST_CASE("hca status: objects and counters of two processes, for people and for programs") {
  const Place place;
  Verbs verbs;
  ibv_cq* done = verbs.cq();
  ibv_qp* from = verbs.rc(done, done);
  ibv_qp* to = verbs.rc(done, done);
  std::vector<char> bytes(3000);
  const ibv_mr* mr = verbs.mr(bytes.data(), bytes.size());
  verbs.connect(from, to->qp_num);
  verbs.connect(to, from->qp_num);
  Verbs another;
  for (int i = 0; i < 3; ++i) {
    post_recv(to, {reinterpret_cast<std::uint64_t>(bytes.data()), 1000, mr->lkey});
    post_send(from, {reinterpret_cast<std::uint64_t>(&bytes[2000]), 1000, mr->lkey},
              IBV_SEND_SIGNALED);
    CHECK(next(done).status == IBV_WC_SUCCESS);
    CHECK(next(done).status == IBV_WC_SUCCESS);
  }
  const Json status = Json::parse(output_of(std::string(engine_program()) + " --status --json"));
  const Json& node = status["node"];
  CHECK(node["queue_pairs"]["rc"] == 2);
  CHECK(node["connections"]["all"] == 2);
  CHECK(node["regions"]["count"] == 1);
  CHECK(node["regions"]["bytes"] == 3000);
  CHECK(node["completion_queues"]["count"] == 1);
  CHECK(node["requests"]["posted"] == 3);
  CHECK(node["requests"]["executed"] == 3);
  CHECK(node["requests"]["bytes"] == 3000);
  CHECK(node["received"]["messages"] == 3);
  CHECK(node["shared_bytes"].get<std::uint64_t>() >=
        node["queue_pairs"]["bytes"].get<std::uint64_t>());
  REQUIRE(status["processes"].size() == 2);
  for (const Json& process : status["processes"])
    CHECK(process["pid"] == ::getpid());
  CHECK(status["processes"][0]["requests"]["executed"].get<int>() +
            status["processes"][1]["requests"]["executed"].get<int>() ==
        3);

  const std::string text = output_of(std::string(engine_program()) + " --status");
  std::istringstream lines(text);
  std::string line, last;
  while (std::getline(lines, line))
    last = line;
  std::istringstream words(last);
  std::string all, posted, executed;
  words >> all >> posted >> executed;
  INFO(text);
  CHECK(all == "all");
  CHECK(posted == "3");
  CHECK(executed == "3");
}

}  // namespace trace_test
