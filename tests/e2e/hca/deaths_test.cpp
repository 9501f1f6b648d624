// Processes that are killed while they post, hold buffers and are sent to: no other process waits
// for them.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/e2e/hca/verbs_program.h"

namespace deaths_test {

using namespace scela;
using namespace scela::test;

namespace {

struct Shared {
  std::atomic<std::uint32_t> parent_qpn{0};
  std::atomic<std::uint32_t> child_qpn{0};
};

// Posts receives for its parent to fill, and messages to itself, in bursts, for ever.
[[noreturn]] void post_until_killed(Shared& shared) {
  Verbs verbs;
  std::vector<char> memory(1 << 16);
  ibv_cq* const cq = verbs.cq(1024);
  const ibv_mr* const mr = verbs.mr(memory.data(), memory.size());
  const auto part = [&](std::size_t at, std::uint32_t bytes) {
    return ibv_sge{reinterpret_cast<std::uintptr_t>(&memory[at]), bytes, mr->lkey};
  };
  ibv_qp* const with_parent = verbs.rc(cq, cq);
  ibv_qp* const own = verbs.rc(cq, cq);
  verbs.connect(own, own->qp_num);
  verbs.connect(with_parent, shared.parent_qpn.load());
  for (int i = 0; i < 32; ++i)
    post_recv(with_parent, part(0, 4096));
  tell(shared.child_qpn, with_parent->qp_num);
  for (;;) {
    for (int i = 0; i < 8; ++i)
      post_recv(own, part(8192, 8192));
    for (int i = 0; i < 8; ++i)
      post_send(own, part(32768, 8192), IBV_SEND_SIGNALED);
    for (int left = 16; left > 0;) {
      const ibv_wc completion = next(cq);
      if (completion.qp_num == own->qp_num)
        --left;
      else
        post_recv(with_parent, part(0, 4096));
    }
  }
}

}  // namespace

TEST_CASE("hca deaths: a process killed while it posts and holds buffers disturbs no other") {
  const Place place;
  auto* const shared = new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
  std::mt19937 drawn(1);
  {
    Verbs verbs;
    std::vector<char> memory(1 << 16, 'x');
    const ibv_mr* const mr = verbs.mr(memory.data(), memory.size());
    ibv_cq* const cq = verbs.cq();
    ibv_cq* const own_cq = verbs.cq();
    const auto part = [&](std::size_t at) {
      return ibv_sge{reinterpret_cast<std::uintptr_t>(&memory[at]), 4096, mr->lkey};
    };
    ibv_qp* const own = verbs.rc(own_cq, own_cq);
    verbs.connect(own, own->qp_num);
    for (int round = 0; round < 8; ++round) {
      ibv_qp* const qp = verbs.rc(cq, cq);
      shared->parent_qpn = qp->qp_num;
      shared->child_qpn = 0;
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        try {
          post_until_killed(*shared);
        } catch (...) {
          ::_exit(1);
        }
      }
      while (shared->child_qpn.load() == 0)
        futex_wait(reinterpret_cast<const std::uint32_t*>(&shared->child_qpn), 0, nullptr);
      verbs.connect(qp, shared->child_qpn.load());
      // The kill comes at a random moment: in the middle of a burst, of a message, or of nothing.
      const auto moment = std::chrono::microseconds(drawn() % 5000);
      std::thread killer([&] {
        std::this_thread::sleep_for(moment);
        ::kill(child, SIGKILL);
      });
      ibv_wc completion{};
      do {
        post_send(qp, part(0), IBV_SEND_SIGNALED);
        completion = next(cq);
      } while (completion.status == IBV_WC_SUCCESS);
      killer.join();
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      CHECK(WIFSIGNALED(status));
      // IBV_WC_REM_OP_ERR comes if the child ended while this message filled its buffer.
      CHECK((completion.status == IBV_WC_RETRY_EXC_ERR || completion.status == IBV_WC_REM_OP_ERR));
      // The others go on.
      post_recv(own, part(8192));
      post_send(own, part(16384), IBV_SEND_SIGNALED);
      CHECK(next(own_cq).status == IBV_WC_SUCCESS);
      CHECK(next(own_cq).status == IBV_WC_SUCCESS);
    }
  }
  ::munmap(shared, sizeof(Shared));
}

}  // namespace deaths_test
