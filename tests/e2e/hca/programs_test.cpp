// What programs may do to themselves, and what becomes of what they have.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <thread>

#include "tests/e2e/hca/verbs_program.h"

using namespace scela::test;

namespace {

bool main_thread_has_ended() {
  std::string line;
  std::getline(std::ifstream("/proc/self/stat"), line);
  return line.find(") Z") != line.npos;
}

// What a process sends itself; true: it came.
bool sends_itself() {
  Verbs verbs;
  char words[2][8] = {"message", ""};
  ibv_mr* const mr = verbs.mr(words, sizeof words);
  ibv_cq* const sent = verbs.cq();
  ibv_cq* const came = verbs.cq();
  ibv_qp* const out = verbs.rc(sent, sent);
  ibv_qp* const in = verbs.rc(came, came);
  verbs.connect(out, in->qp_num);
  verbs.connect(in, out->qp_num);
  post_recv(in, {reinterpret_cast<std::uint64_t>(words[1]), 8, mr->lkey});
  post_send(out, {reinterpret_cast<std::uint64_t>(words[0]), 8, mr->lkey}, IBV_SEND_SIGNALED);
  return next(sent).status == IBV_WC_SUCCESS && next(came).status == IBV_WC_SUCCESS &&
         std::string(words[1]) == "message";
}

// The exit status of a child that does this.
template <class Does>
int child(Does does) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    does();
    ::_exit(2);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return status;
}

}  // namespace

TEST_CASE("hca programs: one whose main thread has ended sends and receives as before") {
  const Place place;
  const int status = child([] {
    std::thread([] {
      while (!main_thread_has_ended())
        ::sched_yield();
      ::_exit(sends_itself() ? 0 : 1);
    }).detach();
    // As pthread_exit ends it, but for this test's own stack, which is the child's as well.
    ::syscall(SYS_exit, 0);
  });
  CHECK(status == 0);
}
