// Programs that replace, split or end parts of themselves, and the fate of their objects.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "common/core/text.h"
#include "tests/e2e/hca/verbs_program.h"
#include "tests/support/eventually.h"

namespace programs_test {

using namespace scela;
using namespace scela::test;

namespace {

bool main_thread_has_ended() {
  std::string line;
  std::getline(std::ifstream("/proc/self/stat"), line);
  return line.find(") Z") != line.npos;
}

// Counts the mappings of this process that it shares with the engine.
int mappings() {
  int count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("/memfd:scela-hca") != line.npos) ++count;
  return count;
}

// Returns the number of processes that the engine serves.
std::size_t processes() {
  FILE* const pipe = ::popen(cat(engine_program(), " --status --json").c_str(), "r");
  REQUIRE(pipe != nullptr);
  const auto status = nlohmann::json::parse(pipe, nullptr, false);
  ::pclose(pipe);
  return status.is_object() ? status["processes"].size() : 0;
}

std::string program_of(pid_t pid) {
  std::string name;
  std::getline(std::ifstream(cat("/proc/", pid, "/comm")), name);
  return name;
}

// Values that one process passes to another.
struct Shared {
  std::atomic<std::uint32_t> step{0};
  std::uint32_t number = 0, partner = 0;  // queue pairs
};

// Receives once, then becomes another program.
[[noreturn]] void receive_and_execute(Shared& shared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Verbs verbs;
  ibv_cq* const came = verbs.cq();
  ibv_qp* const in = verbs.rc(came, came);
  shared.number = in->qp_num;
  tell(shared.step, 1);
  until(shared.step, 2);
  verbs.connect(in, shared.partner);
  post_recv(in, {});
  post_recv(in, {});
  tell(shared.step, 3);
  next(came);
  until(shared.step, 4);
  ::execl("/bin/sleep", "sleep", "1000", nullptr);
  ::_exit(3);
}

// Sends a message to this process itself. Returns true if it came.
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

// Runs `does` in a child process, and returns the child's exit status.
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

TEST_CASE("hca programs: a process sends and receives after its main thread has ended") {
  const Place place;
  const int status = child([] {
    std::thread([] {
      while (!main_thread_has_ended())
        ::sched_yield();
      ::_exit(sends_itself() ? 0 : 1);
    }).detach();
    // Ends the thread as pthread_exit() would, but does not unwind this test's own stack, which the
    // child has as well.
    ::syscall(SYS_exit, 0);
  });
  CHECK(status == 0);
}

TEST_CASE("hca programs: memory of large queues goes with them") {
  const Place place;
  Verbs verbs;
  const int before = mappings();
  CHECK(before >= 2);  // its first chunk, and the engine's page
  for (int i = 0; i < 3; ++i) {
    ibv_cq* const cq = ibv_create_cq(verbs.context, 1 << 16, nullptr, nullptr, 0);
    REQUIRE(cq != nullptr);
    CHECK(mappings() == before + 1);
    CHECK(ibv_resize_cq(cq, 1 << 17) == 0);
    CHECK(mappings() == before + 1);
    ibv_srq_init_attr many{nullptr, {1 << 16, 4, 0}};
    ibv_srq* const srq = ibv_create_srq(verbs.pd, &many);
    REQUIRE(srq != nullptr);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {8192, 8192, 16, 16, 0};
    ibv_qp* const qp = ibv_create_qp(verbs.pd, &attributes);
    REQUIRE(qp != nullptr);
    CHECK(mappings() == before + 4);
    CHECK(ibv_destroy_qp(qp) == 0);
    CHECK(ibv_destroy_srq(srq) == 0);
    CHECK(ibv_destroy_cq(cq) == 0);
    CHECK(mappings() == before);
  }
  // Small objects are in chunks that stay, and objects that are made afterwards work.
  CHECK(sends_itself());
}

TEST_CASE("hca programs: an adapter without ibv_open_qp says so, and keeps the queue pair") {
  const Place place;
  const bool lacks = GENERATE(true, false);
  if (lacks) ::setenv("SCELA_HCA_NO_OPEN_QP", "1", 1);
  {
    Verbs verbs;
    ibv_xrcd_init_attr domain{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT};
    ibv_xrcd* const xrcd = ibv_open_xrcd(verbs.context, &domain);
    REQUIRE(xrcd != nullptr);
    ibv_qp_init_attr_ex attributes{};
    attributes.qp_type = IBV_QPT_XRC_RECV;
    attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    attributes.xrcd = xrcd;
    ibv_qp* const made = ibv_create_qp_ex(verbs.context, &attributes);
    REQUIRE(made != nullptr);
    ibv_qp_open_attr which{};
    which.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    which.qp_num = made->qp_num;
    which.xrcd = xrcd;
    which.qp_type = IBV_QPT_XRC_RECV;
    errno = 0;
    ibv_qp* const opened = ibv_open_qp(verbs.context, &which);
    CHECK((opened == nullptr) == lacks);
    if (lacks) CHECK(errno == EOPNOTSUPP);
    if (opened != nullptr) CHECK(ibv_destroy_qp(opened) == 0);
    ibv_qp_attr now{};
    ibv_qp_init_attr with{};
    CHECK(ibv_query_qp(made, &now, IBV_QP_STATE, &with) == 0);
    CHECK(ibv_destroy_qp(made) == 0);
    CHECK(ibv_close_xrcd(xrcd) == 0);
  }
  ::unsetenv("SCELA_HCA_NO_OPEN_QP");
}

TEST_CASE("hca programs: an adapter without XRC shows none, and has none") {
  const Place place;
  const bool lacks = GENERATE(true, false);
  if (lacks) ::setenv("SCELA_HCA_NO_XRC", "yes", 1);
  {
    Verbs verbs;
    ibv_device_attr device{};
    REQUIRE(ibv_query_device(verbs.context, &device) == 0);
    CHECK(((device.device_cap_flags & IBV_DEVICE_XRC) == 0) == lacks);
    ibv_xrcd_init_attr domain{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT};
    errno = 0;
    ibv_xrcd* const xrcd = ibv_open_xrcd(verbs.context, &domain);
    CHECK((xrcd == nullptr) == lacks);
    if (lacks) CHECK(errno == EOPNOTSUPP);
    if (xrcd != nullptr) CHECK(ibv_close_xrcd(xrcd) == 0);
    ibv_cq* const cq = verbs.cq();
    ibv_qp_init_attr_ex sending{};
    sending.qp_type = IBV_QPT_XRC_SEND;
    sending.send_cq = cq;
    sending.cap = {1, 0, 1, 0, 0};
    sending.comp_mask = IBV_QP_INIT_ATTR_PD;
    sending.pd = verbs.pd;
    errno = 0;
    ibv_qp* const qp = ibv_create_qp_ex(verbs.context, &sending);
    CHECK((qp == nullptr) == lacks);
    if (lacks) CHECK(errno == EOPNOTSUPP);
    if (qp != nullptr) CHECK(ibv_destroy_qp(qp) == 0);
  }
  // RC still works.
  CHECK(sends_itself());
  ::unsetenv("SCELA_HCA_NO_XRC");
}

TEST_CASE("hca programs: a process that executes another program loses all its objects") {
  const Place place;
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto& shared = *new (memory) Shared;
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) receive_and_execute(shared);
  {
    until(shared.step, 1);
    Verbs verbs;
    ibv_cq* const sent = verbs.cq();
    ibv_qp* const out = verbs.rc(sent, sent);
    verbs.connect(out, shared.number);
    shared.partner = out->qp_num;
    tell(shared.step, 2);
    until(shared.step, 3);
    post_send(out, {}, IBV_SEND_SIGNALED);
    CHECK(next(sent).status == IBV_WC_SUCCESS);
    CHECK(processes() == 2);
    tell(shared.step, 4);
    CHECK(eventually([] { return processes() == 1; }));
    post_send(out, {}, IBV_SEND_SIGNALED);
    CHECK(next(sent).status == IBV_WC_RETRY_EXC_ERR);
    CHECK(program_of(pid) == "sleep");
  }
  REQUIRE(::kill(pid, SIGKILL) == 0);
  CHECK(::waitpid(pid, nullptr, 0) == pid);
  ::munmap(memory, sizeof(Shared));
}

TEST_CASE("hca programs: a child that executes another program takes nothing with it") {
  const Place place;
  Verbs verbs;
  ibv_cq* const done = verbs.cq();
  ibv_qp* const out = verbs.rc(done, done);
  ibv_qp* const in = verbs.rc(done, done);
  verbs.connect(out, in->qp_num);
  verbs.connect(in, out->qp_num);
  CHECK(child([] { ::execl("/bin/true", "true", nullptr); }) == 0);
  post_recv(in, {});
  post_send(out, {}, IBV_SEND_SIGNALED);
  for (int i = 0; i < 2; ++i)
    CHECK(next(done).status == IBV_WC_SUCCESS);
}

}  // namespace programs_test
