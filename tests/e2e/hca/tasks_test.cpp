// Management queues on the real engine: what is posted runs without the process that posted it.
//
// The program is linked to libscela-ibverbs as to libibverbs; the library starts the engine.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <new>
#include <numeric>
#include <vector>

#include "tests/e2e/hca/verbs_program.h"
#include "tests/support/stop.h"

namespace tasks_test {

using namespace scela::test;

// "Offloading collective communication", Table 2.2: a barrier among 2^m ranks by recursive
// doubling. For each peer a rank posts a receive and a held send. Its management queue in turn
// releases a send and waits for the peer's.
TEST_CASE("hca tasks: the barrier of Table 2.2 runs without its ranks and holds early ranks") {
  const Place place;
  Verbs verbs;
  constexpr std::uint32_t kRounds = 3, kRanks = 1 << kRounds;
  struct Rank {
    ibv_cq* done = nullptr;
    ibv_qp* manager = nullptr;
    ibv_cq* arrivals[kRounds] = {};
    ibv_qp* peers[kRounds] = {};
  };
  std::vector<Rank> all(kRanks);
  for (Rank& rank : all) {
    rank.done = verbs.cq();
    rank.manager = verbs.mq(rank.done);
    for (std::uint32_t i = 0; i < kRounds; ++i) {
      rank.arrivals[i] = verbs.cq();
      rank.peers[i] = verbs.rc(rank.done, rank.arrivals[i], SCELA_QP_MANAGED_SEND);
    }
  }
  for (std::uint32_t r = 0; r < kRanks; ++r)
    for (std::uint32_t i = 0; i < kRounds; ++i)
      verbs.connect(all[r].peers[i], all[r ^ (1U << i)].peers[i]->qp_num);

  const auto enter = [&](Rank& rank, std::uint64_t id) {
    for (std::uint32_t i = 0; i < kRounds; ++i) {
      post_recv(rank.peers[i], {});
      post_send(rank.peers[i], {});
    }
    for (std::uint32_t i = 0; i < kRounds; ++i) {
      post(rank.manager, enable(rank.peers[i], 1));
      const bool is_last = i + 1 == kRounds;
      post(rank.manager,
           wait(rank.arrivals[i], 1, true, is_last ? unsigned{IBV_SEND_SIGNALED} : 0U, id));
    }
  };
  // The barrier runs twice, each time with another late rank. No rank is through before that one,
  // and all are after it.
  for (const std::uint64_t barrier : {1U, 2U}) {
    const std::uint32_t late = barrier == 1 ? 5 : 2;
    for (std::uint32_t r = 0; r < kRanks; ++r)
      if (r != late) enter(all[r], barrier);
    for (Rank& rank : all) {
      ibv_wc completion{};
      CHECK(ibv_poll_cq(rank.done, 1, &completion) == 0);
    }
    enter(all[late], barrier);
    for (Rank& rank : all) {
      const ibv_wc completion = next(rank.done);
      CHECK(completion.status == IBV_WC_SUCCESS);
      CHECK(static_cast<int>(completion.opcode) == SCELA_TASK_WAIT);
      CHECK(completion.wr_id == barrier);
      for (ibv_cq* arrivals : rank.arrivals)
        CHECK(next(arrivals).status == IBV_WC_SUCCESS);
    }
  }
}

TEST_CASE("hca tasks: waits claim completions one after the other, also those that came early") {
  const Place place;
  Verbs verbs;
  ibv_cq* arrivals = verbs.cq();
  ibv_cq* sent = verbs.cq();
  ibv_cq* done = verbs.cq();
  ibv_qp* from = verbs.rc(sent, sent);
  ibv_qp* to = verbs.rc(sent, arrivals);
  verbs.connect(from, to->qp_num);
  verbs.connect(to, from->qp_num);
  ibv_qp* first = verbs.mq(done);
  ibv_qp* second = verbs.mq(done);
  for (int i = 0; i < 4; ++i)
    post_recv(to, {});
  post_send(from, {}, IBV_SEND_SIGNALED);
  CHECK(next(sent).status == IBV_WC_SUCCESS);
  // Two queues wait for the same completion: one of them moves the base.
  post(first, wait(arrivals, 1, false, IBV_SEND_SIGNALED, 1));
  CHECK(next(done).wr_id == 1);
  post(second, wait(arrivals, 1, true, IBV_SEND_SIGNALED, 2));
  CHECK(next(done).wr_id == 2);
  // From here on the first completion no longer counts.
  post(first, wait(arrivals, 2, true, IBV_SEND_SIGNALED, 3));
  post(second, wait(arrivals, 1, true, IBV_SEND_SIGNALED, 4));
  post_send(from, {}, IBV_SEND_SIGNALED);
  next(sent);
  ibv_wc none{};
  CHECK(ibv_poll_cq(done, 1, &none) == 0);
  post_send(from, {}, IBV_SEND_SIGNALED);
  CHECK(next(done).wr_id == 3);
  post_send(from, {}, IBV_SEND_SIGNALED);
  CHECK(next(done).wr_id == 4);
}

TEST_CASE("hca tasks: the adapter computes, and refuses what it cannot") {
  const Place place;
  Verbs verbs;
  ibv_cq* done = verbs.cq();
  ibv_qp* manager = verbs.mq(done);
  std::vector<double> values{1, 2, 3, 10, 20, 30, 0, 0, 0};
  ibv_mr* mr = verbs.mr(values.data(), values.size() * sizeof(double));
  const auto part = [&](std::size_t at) {
    return ibv_sge{reinterpret_cast<std::uint64_t>(&values[at]), 3 * sizeof(double), mr->lkey};
  };
  ibv_sge list[] = {part(6), part(0), part(3)};
  scela_task task{};
  task.opcode = SCELA_TASK_CALC;
  task.send_flags = IBV_SEND_SIGNALED;
  task.u.calc = {SCELA_CALC_SUM, SCELA_CALC_DOUBLE, list, 3};
  post(manager, task);
  const ibv_wc completion = next(done);
  CHECK(completion.status == IBV_WC_SUCCESS);
  CHECK(static_cast<int>(completion.opcode) == SCELA_TASK_CALC);
  CHECK(values[6] == 11);
  CHECK(values[8] == 33);
  scela_task* bad = nullptr;
  task.u.calc.op = SCELA_CALC_XOR;
  CHECK(scela_post_task(manager, &task, &bad) == EINVAL);
  CHECK(bad == &task);
  task.u.calc.op = SCELA_CALC_SUM;
  list[2].length -= 8;
  post(manager, task);
  CHECK(next(done).status == IBV_WC_LOC_LEN_ERR);
}

// 1,000 chains of 100 tasks. Each chain is a relay of its own: it waits for a message from
// elsewhere, and releases a held send. The poster is a process that is stopped for all that time.
TEST_CASE("hca tasks: a thousand chains of a hundred tasks run while their poster is stopped") {
  const Place place;
  constexpr std::uint32_t kChains = 1000, kLinks = 33;  // a link: WAIT, ENABLE, SEND
  struct Shared {
    std::atomic<std::uint32_t> ready{0};
    std::uint32_t numbers[2 * kChains] = {};  // of the poster's queue pairs
    std::uint32_t partners[2 * kChains] = {};
    std::atomic<std::uint32_t> go{0};
  };
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* shared = new (memory) Shared;
  const pid_t poster = ::fork();
  REQUIRE(poster >= 0);
  if (poster == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Verbs verbs;
    ibv_cq* sent = verbs.cq();
    std::vector<ibv_qp*> ins(kChains), outs(kChains), managers(kChains);
    std::vector<ibv_cq*> arrivals(kChains);
    for (std::uint32_t c = 0; c < kChains; ++c) {
      arrivals[c] = verbs.cq(kLinks);
      ins[c] = verbs.rc(sent, arrivals[c], 0, kLinks);
      outs[c] = verbs.rc(sent, sent, SCELA_QP_MANAGED_SEND, kLinks);
      managers[c] = verbs.mq(sent, 2 * kLinks);
      shared->numbers[2 * c] = ins[c]->qp_num;
      shared->numbers[2 * c + 1] = outs[c]->qp_num;
    }
    tell(shared->ready, 1);
    until(shared->go, 1);
    for (std::uint32_t c = 0; c < kChains; ++c) {
      verbs.connect(ins[c], shared->partners[2 * c]);
      verbs.connect(outs[c], shared->partners[2 * c + 1]);
      for (std::uint32_t i = 0; i < kLinks; ++i) {
        post_recv(ins[c], {});
        post_send(outs[c], {});
        post(managers[c], wait(arrivals[c], 1, true));
        post(managers[c], enable(outs[c], 1));
      }
    }
    tell(shared->ready, 2);
    for (;;)
      ::pause();
  }
  {
    Verbs verbs;
    ibv_cq* sent = verbs.cq();
    ibv_cq* came = verbs.cq(kChains * kLinks);
    std::vector<ibv_qp*> ins(kChains), outs(kChains);
    until(shared->ready, 1);
    for (std::uint32_t c = 0; c < kChains; ++c) {
      outs[c] = verbs.rc(sent, sent, 0, kLinks);
      ins[c] = verbs.rc(sent, came, 0, kLinks);
      verbs.connect(outs[c], shared->numbers[2 * c]);
      verbs.connect(ins[c], shared->numbers[2 * c + 1]);
      for (std::uint32_t i = 0; i < kLinks; ++i)
        post_recv(ins[c], {});
      shared->partners[2 * c] = outs[c]->qp_num;
      shared->partners[2 * c + 1] = ins[c]->qp_num;
    }
    tell(shared->go, 1);
    until(shared->ready, 2);
    stop(poster);
    for (std::uint32_t c = 0; c < kChains; ++c)
      for (std::uint32_t i = 0; i < kLinks; ++i)
        post_send(outs[c], {});
    for (std::uint32_t i = 0; i < kChains * kLinks; ++i) {
      const ibv_wc completion = next(came);
      if (completion.status != IBV_WC_SUCCESS) FAIL(ibv_wc_status_str(completion.status));
    }
    ibv_wc none{};
    CHECK(ibv_poll_cq(came, 1, &none) == 0);
    int status = 0;
    CHECK(::kill(poster, SIGKILL) == 0);
    CHECK(::waitpid(poster, &status, 0) == poster);
  }
  ::munmap(memory, sizeof(Shared));
}

}  // namespace tasks_test
