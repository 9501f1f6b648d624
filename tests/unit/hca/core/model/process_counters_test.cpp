#include "hca/core/model/process_counters.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "hca/core/model/trace_sink.h"
#include "tests/unit/hca/core/fabric_model.h"

namespace process_counters_test {

using namespace scela;
using namespace scela::hca;
using namespace scela::hca::test;

namespace {

SendRequest send_of(std::uint64_t wr_id, std::uint32_t flags = send_flag::kSignaled) {
  SendRequest request;
  request.wr_id = wr_id;
  request.flags = flags;
  return request;
}

// Two programs, each with a queue pair. The queue pairs are connected.
struct Two {
  explicit Two(QpType type = QpType::rc)
      : a(fabric, 1), b(fabric, 2), from(a.make_qp(type)), to(b.make_qp(type)) {}
  void connect_both(const Way& way = {}) {
    REQUIRE(connect(a, from, QpType::rc, to.handle, way) == 0);
    REQUIRE(connect(b, to, QpType::rc, from.handle, way) == 0);
  }
  Fabric fabric;
  Program a, b;
  QueuePair from, to;
};

// Records the events that the engine reports.
class Listener final : public TraceSink {
 public:
  Moment time() override { return ++now; }
  void posted(const Request& request) override { said += "posted " + of(request); }
  void executed(const Request& request, Moment began, Status status) override {
    CHECK(began != 0);
    CHECK(began <= now);
    said += (status == Status::success ? "executed " : "failed ") + of(request);
    if (meanwhile) std::exchange(meanwhile, nullptr)();
  }
  void completed(ProcessId process, const Completion& completion) override {
    said += "completed " + std::to_string(process) + ":" + std::to_string(completion.wr_id) + "\n";
  }
  void woken(ProcessId process) override { said += "woken " + std::to_string(process) + "\n"; }
  std::string take() { return std::exchange(said, {}); }

  Moment now = 0;
  std::string said;
  // An action that a program takes at that moment.
  std::function<void()> meanwhile;

 private:
  static std::string of(const Request& request) {
    return std::to_string(request.process) + ":" + std::to_string(request.wr_id) + "\n";
  }
};

}  // namespace

TEST_CASE("hca counters: what processes have is counted for each and for the node") {
  Two two;
  const Buffer buffer = two.a.buffer(1000);
  CHECK(two.fabric.engine.counters().holdings.connections == 0);
  two.connect_both();
  static_cast<void>(two.b.make_qp(QpType::ud));
  static_cast<void>(two.b.make_qp(QpType::xrc_send));
  // Two more queue pairs lead to one other node.
  two.fabric.machine.nodes[9] = 4;
  Way away;
  away.lid = 9;
  for (int i = 0; i < 2; ++i)
    REQUIRE(connect(two.b, two.b.make_qp(QpType::rc), QpType::rc, 5, away) == 0);
  const Answer srq = two.a.make_srq(4000);
  for (std::uint32_t i = 0; i < 3000; ++i)
    two.a.post_srq(srq, i, {buffer.sge(0, 60), buffer.sge(60, 40)});
  const NodeCounters all = two.fabric.engine.counters();
  REQUIRE(all.processes.size() == 2);
  const Holdings& a = all.processes[0].holdings;
  const Holdings& b = all.processes[1].holdings;
  CHECK(all.processes[0].process == 1);
  CHECK(a.rc == 1);
  CHECK(a.ud == 0);
  CHECK(a.connections == 1);
  CHECK(a.sending == 1);
  CHECK(a.peer_nodes == 0);
  CHECK(a.regions == 1);
  CHECK(a.registered_bytes == 1000);
  CHECK(a.srqs == 1);
  CHECK(a.srq_requests == 3000);
  CHECK(a.srq_buffer_bytes == 300'000);
  CHECK(b.srqs == 0);
  CHECK(b.ud == 1);
  CHECK(b.xrc_send == 1);
  CHECK(b.connections == 3);
  CHECK(b.peer_nodes == 1);
  CHECK(all.holdings.rc == 4);
  CHECK(all.holdings.connections == 4);
  CHECK(all.holdings.peer_nodes == 1);
  CHECK(all.holdings.cqs == 2);
  CHECK(all.holdings.queue_pair_bytes == a.queue_pair_bytes + b.queue_pair_bytes);
  CHECK(all.holdings.cq_bytes == a.cq_bytes + b.cq_bytes);
  two.b.leave();
  const NodeCounters left = two.fabric.engine.counters();
  CHECK(left.processes.size() == 1);
  CHECK(left.holdings.rc == 1);
  CHECK(left.holdings.cqs == 1);
}

TEST_CASE("hca counters: a target queue pair of several holders counts once for the node") {
  Fabric fabric;
  Program a(fabric, 1), b(fabric, 2);
  Ask ask;
  ask.operation = Operation::open_xrcd;
  ask.file_device = ask.file_inode = 7;
  ask.open_flags = 0100;  // O_CREAT
  const std::uint32_t domain = a.request(ask).handle;
  REQUIRE(b.request(ask).handle == domain);
  Ask make;
  make.qp_type = QpType::xrc_recv;
  make.xrcd = domain;
  const QueuePair target = a.make_qp(make);
  REQUIRE(target.handle != 0);
  Ask open;
  open.operation = Operation::open_qp;
  open.qp_type = QpType::xrc_recv;
  open.number = target.handle;
  open.xrcd = domain;
  REQUIRE(b.request(open).error == 0);
  const NodeCounters all = fabric.engine.counters();
  CHECK(all.processes[0].holdings.xrc_recv == 1);
  CHECK(all.processes[1].holdings.xrc_recv == 1);
  CHECK(all.holdings.xrc_recv == 1);
}

TEST_CASE("hca counters: requests are posted, executed or failed, and counted when all are gone") {
  Two two;
  two.connect_both();
  const Buffer there = two.b.buffer(100);
  const Buffer here = two.a.buffer(100, 1);
  two.b.post_recv(two.to, 1, {there.sge(0, 30)});
  two.b.post_recv(two.to, 2, {there.sge(0, 30)});
  two.a.post_send(two.from, send_of(1), {here.sge(0, 10)});
  two.a.post_send(two.from, send_of(2, 0), {here.sge(0, 20)});
  CHECK(two.fabric.engine.counters().processes[0].traffic.posted == 2);
  CHECK(two.fabric.engine.counters().processes[0].traffic.executed == 0);
  two.fabric.run();
  NodeCounters all = two.fabric.engine.counters();
  const Traffic a = all.processes[0].traffic, b = all.processes[1].traffic;
  CHECK(a.posted == 2);
  CHECK(a.executed == 2);
  CHECK(a.failed == 0);
  CHECK(a.sent_bytes == 30);
  CHECK(a.completions == 1);
  CHECK(a.received == 0);
  CHECK(b.posted == 0);
  CHECK(b.received == 2);
  CHECK(b.received_bytes == 30);
  CHECK(b.completions == 2);
  // The message is too long for the receiver: it fails, and the requests behind it are flushed.
  two.b.post_recv(two.to, 3, {there.sge(0, 5)});
  for (std::uint64_t id : {3U, 4U, 5U})
    two.a.post_send(two.from, send_of(id), {here.sge(0, 10)});
  two.fabric.run();
  all = two.fabric.engine.counters();
  CHECK(all.processes[0].traffic.posted == 5);
  CHECK(all.processes[0].traffic.executed == 2);
  CHECK(all.processes[0].traffic.failed == 3);
  CHECK(all.traffic.failed == 3);
  two.a.leave();
  two.b.leave();
  all = two.fabric.engine.counters();
  CHECK(all.processes.empty());
  CHECK(all.traffic.posted == 5);
  CHECK(all.traffic.executed == 2);
  CHECK(all.traffic.failed == 3);
  CHECK(all.traffic.sent_bytes == 30);
  CHECK(all.traffic.received == 2);
}

TEST_CASE("hca counters: retries are counted by their cause, and so are wake-ups") {
  Two two;
  Way way;
  way.rnr_retries = 3;
  way.retries = 2;
  two.connect_both(way);
  const Buffer here = two.a.buffer(10);
  two.a.completions().watched.store(1);
  two.a.post_send(two.from, send_of(1), {here.all()});
  two.fabric.run();
  while (two.fabric.advance()) {
  }
  REQUIRE(two.a.poll()[0].status == Status::rnr_retry_exceeded);
  Traffic traffic = two.fabric.engine.counters().processes[0].traffic;
  CHECK(traffic.rnr_retries == 3);
  CHECK(traffic.retries == 0);
  CHECK(traffic.failed == 1);
  CHECK(traffic.wakes == 1);

  const QueuePair lonely = two.a.make_qp(QpType::rc);
  REQUIRE(connect(two.a, lonely, QpType::rc, 4711, way) == 0);
  two.a.post_send(lonely, send_of(2), {here.all()});
  two.fabric.run();
  while (two.fabric.advance()) {
  }
  REQUIRE(two.a.poll()[0].status == Status::retry_exceeded);
  traffic = two.fabric.engine.counters().processes[0].traffic;
  CHECK(traffic.retries == 2);
  CHECK(traffic.rnr_retries == 3);
}

TEST_CASE("hca counters: counters that a process has spoilt are counted as far as they can be") {
  Two two;
  two.connect_both();
  const Answer srq = two.a.make_srq(16);
  auto* head = reinterpret_cast<RequestRing*>(srq.recv.offset);
  head->posted.store(~0ULL);
  auto* entry = reinterpret_cast<RecvRequest*>(srq.recv.offset + kEntriesOffset);
  entry->sge_count = ~0U;
  const NodeCounters all = two.fabric.engine.counters();
  CHECK(all.holdings.srq_requests <= srq.recv_slots);
}

TEST_CASE("hca watcher: posts, executions and completions are reported in that order") {
  Two two;
  two.connect_both();
  Listener listener;
  two.fabric.engine.watch(&listener);
  const Buffer there = two.b.buffer(100);
  const Buffer here = two.a.buffer(100, 1);
  two.b.post_recv(two.to, 11, {there.all()});
  two.b.completions().watched.store(1);
  two.a.post_send(two.from, send_of(1), {here.all()});
  two.a.post_send(two.from, send_of(2), {here.all()});
  two.fabric.run();
  CHECK(listener.take() ==
        "posted 1:1\nposted 1:2\ncompleted 2:11\nwoken 2\nexecuted 1:1\ncompleted 1:1\n");
  two.b.post_recv(two.to, 12, {there.all()});
  while (two.fabric.advance()) {
  }
  CHECK(listener.take() == "completed 2:12\nexecuted 1:2\ncompleted 1:2\n");
  two.b.leave();
  two.a.post_send(two.from, send_of(3), {here.all()});
  two.fabric.run();
  CHECK(listener.take() == "posted 1:3\n");
  while (two.fabric.advance()) {
  }
  CHECK(listener.take() == "failed 1:3\ncompleted 1:3\n");
  two.fabric.engine.watch(nullptr);
  two.a.post_send(two.from, send_of(4), {here.all()});
  two.fabric.run();
  CHECK(listener.take().empty());
}

TEST_CASE("hca watcher: posts are reported while the queue has its turn") {
  Two two;
  two.connect_both();
  Listener listener;
  two.fabric.engine.watch(&listener);
  const Buffer there = two.b.buffer(100);
  const Buffer here = two.a.buffer(100, 1);
  two.b.post_recv(two.to, 11, {there.all()});
  two.b.post_recv(two.to, 12, {there.all()});
  two.a.post_send(two.from, send_of(1, 0), {here.all()});
  listener.meanwhile = [&] { two.a.post_send(two.from, send_of(2, 0), {here.all()}); };
  two.fabric.run();
  CHECK(listener.take() ==
        "posted 1:1\ncompleted 2:11\nexecuted 1:1\n"
        "posted 1:2\ncompleted 2:12\nexecuted 1:2\n");
}

}  // namespace process_counters_test
