// An engine that does wrong on purpose (SCELA_HCA_FAULTS), and what programs see of it.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "tests/e2e/hca/verbs_program.h"

namespace faults_test {

using namespace scela;
using namespace scela::test;

namespace {

// Sets the faults of the engine that the next program starts.
struct Faults {
  explicit Faults(const char* words) { ::setenv("SCELA_HCA_FAULTS", words, 1); }
  ~Faults() { ::unsetenv("SCELA_HCA_FAULTS"); }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
};

constexpr int kDatagrams = 100;

// A queue pair that sends datagrams to itself, each with its number.
struct Datagrams {
  explicit Datagrams(Verbs& with) : verbs(with), sent(verbs.cq(256)), came(verbs.cq(256)) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = sent;
    wanted.recv_cq = came;
    wanted.qp_type = IBV_QPT_UD;
    wanted.cap = {kDatagrams, 2 * kDatagrams, 1, 1, 0};
    qp = ibv_create_qp(verbs.pd, &wanted);
    REQUIRE(qp != nullptr);
    verbs.qps.push_back(qp);
    ibv_qp_attr a{};
    a.port_num = 1;
    a.qkey = 17;
    a.qp_state = IBV_QPS_INIT;
    REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) ==
            0);
    a.qp_state = IBV_QPS_RTR;
    REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE) == 0);
    a.qp_state = IBV_QPS_RTS;
    REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
    ibv_port_attr port{};
    REQUIRE(ibv_query_port(verbs.context, 1, &port) == 0);
    ibv_ah_attr where{};
    where.dlid = port.lid;
    where.port_num = 1;
    way = ibv_create_ah(verbs.pd, &where);
    REQUIRE(way != nullptr);
    mr = verbs.mr(memory, sizeof memory);
    for (int i = 0; i < 2 * kDatagrams; ++i)
      post_recv(qp, {reinterpret_cast<std::uintptr_t>(memory), 48, mr->lkey});
  }
  ~Datagrams() { CHECK(ibv_destroy_ah(way) == 0); }
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;

  // The sender is told of success even if a datagram is lost.
  void send_all() {
    for (std::uint32_t i = 0; i < kDatagrams; ++i) {
      ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory + 48), 8, mr->lkey};
      ibv_send_wr wr{}, *bad = nullptr;
      wr.sg_list = &piece;
      wr.num_sge = 1;
      wr.opcode = IBV_WR_SEND_WITH_IMM;
      wr.imm_data = i;
      wr.send_flags = IBV_SEND_SIGNALED;
      wr.wr.ud = {way, qp->qp_num, 17};
      REQUIRE(ibv_post_send(qp, &wr, &bad) == 0);
    }
    for (int i = 0; i < kDatagrams; ++i)
      REQUIRE(next(sent).status == IBV_WC_SUCCESS);
  }
  std::vector<std::uint32_t> numbers(int count) const {
    std::vector<std::uint32_t> found;
    for (int i = 0; i < count; ++i) {
      const ibv_wc completion = next(came);
      REQUIRE(completion.status == IBV_WC_SUCCESS);
      found.push_back(completion.imm_data);
    }
    return found;
  }
  bool more_has_come() const {
    ibv_wc completion{};
    return ibv_poll_cq(came, 1, &completion) != 0;
  }

  Verbs& verbs;
  ibv_cq* sent;
  ibv_cq* came;
  ibv_qp* qp = nullptr;
  ibv_ah* way = nullptr;
  ibv_mr* mr = nullptr;
  char memory[56] = {};
};

// A process that is connected with itself.
struct Loop {
  explicit Loop(int rnr_retries = 7) : cq(verbs.cq(256)), qp(verbs.rc(cq, cq)) {
    verbs.connect(qp, qp->qp_num, rnr_retries);
  }
  void send(int count) const {
    for (int i = 0; i < count; ++i)
      post_recv(qp, {});
    for (int i = 0; i < count; ++i)
      post_send(qp, {}, IBV_SEND_SIGNALED);
  }
  Verbs verbs;
  ibv_cq* cq;
  ibv_qp* qp;
};

}  // namespace

TEST_CASE("hca faults: lost datagrams do not arrive, and doubled datagrams arrive twice") {
  const Place place;
  const bool lost = GENERATE(true, false);
  const Faults faults(lost ? "ud-lost=1000" : "ud-twice=1000");
  Verbs verbs;
  Datagrams datagrams(verbs);
  datagrams.send_all();
  if (!lost) {
    auto numbers = datagrams.numbers(2 * kDatagrams);
    for (std::uint32_t i = 0; i < kDatagrams; ++i)
      CHECK(std::ranges::count(numbers, i) == 2);
  }
  CHECK_FALSE(datagrams.more_has_come());
}

TEST_CASE("hca faults: late datagrams all arrive, behind others") {
  const Place place;
  const Faults faults("ud-late=300");
  Verbs verbs;
  Datagrams datagrams(verbs);
  datagrams.send_all();
  auto numbers = datagrams.numbers(kDatagrams);
  CHECK_FALSE(std::ranges::is_sorted(numbers));
  std::ranges::sort(numbers);
  CHECK(std::ranges::adjacent_find(numbers) == numbers.end());
  CHECK_FALSE(datagrams.more_has_come());
}

TEST_CASE(
    "hca faults: a receiver that is never ready, and one that never answers, end the sender") {
  const Place place;
  const bool not_ready = GENERATE(true, false);
  const Faults faults(not_ready ? "not-ready=1000" : "unanswered=1000");
  const Loop loop(1);
  loop.send(2);
  // Everything that was sent behind it, and all receives, are flushed.
  const ibv_wc_status wanted = not_ready ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR;
  std::vector<ibv_wc_status> found;
  for (int i = 0; i < 4; ++i)
    found.push_back(next(loop.cq).status);
  CHECK(std::ranges::count(found, wanted) == 1);
  CHECK(std::ranges::count(found, IBV_WC_WR_FLUSH_ERR) == 3);
}

TEST_CASE("hca faults: receivers that are not ready at times, or do not answer, lose nothing") {
  const Place place;
  const Faults faults("not-ready=100,unanswered=20");
  const Loop loop;
  for (int i = 0; i < 100; ++i) {
    loop.send(1);
    REQUIRE(next(loop.cq).status == IBV_WC_SUCCESS);
    REQUIRE(next(loop.cq).status == IBV_WC_SUCCESS);
  }
}

TEST_CASE("hca faults: a slow engine takes at least its time, and loses nothing") {
  const Place place;
  const Faults faults("slow-us=2000");
  const Loop loop;
  const auto begun = std::chrono::steady_clock::now();
  loop.send(50);
  for (int i = 0; i < 100; ++i)
    REQUIRE(next(loop.cq).status == IBV_WC_SUCCESS);
  // The test has no upper limit, because a slow machine may take longer.
  CHECK(std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds(49 * 2));
}

TEST_CASE("hca faults: an engine that dies has carried out so many requests, and all are told") {
  const Place place(false);  // completions are told as requests are carried out
  const Faults faults("dies-after=10");
  const Loop loop;
  loop.send(20);
  int carried_out = 0, flushed = 0;
  for (int i = 0; i < 40; ++i) {
    const ibv_wc_status status = next(loop.cq).status;
    ++(status == IBV_WC_SUCCESS ? carried_out : flushed);
    CHECK((status == IBV_WC_SUCCESS || status == IBV_WC_WR_FLUSH_ERR));
  }
  CHECK(carried_out == 20);  // ten sends, and what they filled
  CHECK(flushed == 20);
  ibv_async_event event{};
  REQUIRE(ibv_get_async_event(loop.verbs.context, &event) == 0);
  CHECK(event.event_type == IBV_EVENT_DEVICE_FATAL);
  ibv_ack_async_event(&event);
  std::ifstream log(place.path + "/log");
  const std::string said(std::istreambuf_iterator<char>(log), {});
  CHECK(said == "scela-hca: ends as if killed, as SCELA_HCA_FAULTS (dies-after) says\n");
}

}  // namespace faults_test
