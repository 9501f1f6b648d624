// The library and the engine while there is nothing to do yet: which of them polls in vain, and if
// the engine has a processor of its own.
#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/os/affinity.h"
#include "tests/e2e/hca/verbs_program.h"
#include "tests/support/eventually.h"
#include "tests/support/output_of.h"

namespace waiting_test {

using namespace scela;
using namespace scela::test;
using Json = nlohmann::json;

namespace {

// Bytes that the library has moved between this process's memory and another's.
std::atomic<std::uint64_t> moved{0};

ssize_t count(long number, pid_t process, const iovec* here, unsigned long heres,
              const iovec* there, unsigned long theres, unsigned long flags) {
  const long done = ::syscall(number, process, here, heres, there, theres, flags);
  if (done > 0) moved += static_cast<std::uint64_t>(done);
  return done;
}

}  // namespace

// The library's calls come here before they come to the C library's.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's are reserved
extern "C" ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long heres,
                                    const iovec* there, unsigned long theres, unsigned long flags) {
  return count(SYS_process_vm_readv, process, here, heres, there, theres, flags);
}
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's are reserved
extern "C" ssize_t process_vm_writev(pid_t process, const iovec* here, unsigned long heres,
                                     const iovec* there, unsigned long theres,
                                     unsigned long flags) {
  return count(SYS_process_vm_writev, process, here, heres, there, theres, flags);
}

namespace {

constexpr std::uint32_t kBytes = 4 << 20;

// Moves long messages to another end, and polls for their completions without a pause.
std::uint64_t moved_while_polling(Verbs& verbs, ibv_cq* done) {
  Verbs other;  // to the engine another process
  std::vector<char> from(kBytes, 'f'), to(kBytes);
  const ibv_mr* source = verbs.mr(from.data(), kBytes);
  const ibv_mr* target = other.mr(to.data(), kBytes);
  ibv_cq* came = other.cq();
  ibv_qp* sender = verbs.rc(done, done);
  ibv_qp* receiver = other.rc(came, came);
  verbs.connect(sender, receiver->qp_num);
  other.connect(receiver, sender->qp_num);
  const std::uint64_t before = moved;
  for (int i = 0; i < 20; ++i) {
    post_recv(receiver, {reinterpret_cast<std::uint64_t>(to.data()), kBytes, target->lkey});
    post_send(sender, {reinterpret_cast<std::uint64_t>(from.data()), kBytes, source->lkey},
              IBV_SEND_SIGNALED);
    CHECK(next(done).status == IBV_WC_SUCCESS);
  }
  CHECK(to == from);
  return moved - before;
}

Json status_of(const Place& place) {
  return Json::parse(output_of(std::string(engine_program()) + " --status --json --socket " +
                               place.path + "/socket"));
}
bool is_alone(const Place& place) {
  return status_of(place)["engine"]["alone"];
}
void put_on(const std::vector<int>& cpus, pid_t process) {
  const CpuMask mask(cpus);
  REQUIRE(::sched_setaffinity(process, mask.bytes(), mask.data()) == 0);
}

}  // namespace

TEST_CASE("hca waiting: a process that polls a task queue in vain copies nothing for the engine") {
  const Place place(false);
  Verbs verbs;
  // The ordinary queue shows that the test would see such a move. One attempt may poll too late for
  // each part.
  ibv_cq* plain = verbs.cq();
  CHECK(eventually([&] { return moved_while_polling(verbs, plain) > 0; }));
  ibv_cq* tasks = scela_create_cq(verbs.context, 64, nullptr, nullptr, 0);
  REQUIRE(tasks != nullptr);
  verbs.cqs.push_back(tasks);
  CHECK(moved_while_polling(verbs, tasks) == 0);
}

TEST_CASE("hca waiting: an engine knows when no program may run on its processors") {
  const std::vector<int> all = allowed_cpus();
  REQUIRE(all.size() >= 2);
  const Place place;
  const Verbs verbs;
  const pid_t engine = status_of(place)["pid"];
  CHECK_FALSE(is_alone(place));
  put_on({all[0]}, engine);
  CHECK_FALSE(is_alone(place));
  put_on({all[1]}, 0);
  CHECK(eventually([&] { return is_alone(place); }));
  put_on(all, 0);
  CHECK(eventually([&] { return !is_alone(place); }));
}

TEST_CASE("hca waiting: held requests do not wake a sleeping engine") {
  const Place place;
  Verbs verbs;
  ibv_cq* done = verbs.cq(256);
  ibv_qp* from = verbs.rc(done, done, SCELA_QP_MANAGED_SEND);
  ibv_qp* to = verbs.rc(done, done);
  verbs.connect(from, to->qp_num);
  verbs.connect(to, from->qp_num);
  ibv_qp* manager = verbs.mq(done);
  const auto doorbells = [&] { return status_of(place)["engine"]["bells"].get<int>(); };
  const int before = doorbells();
  for (int i = 0; i < 100; ++i) {
    post_recv(to, {});
    post_send(from, {});
  }
  CHECK(doorbells() == before);
  post(manager, enable(from, 100));
  for (int i = 0; i < 100; ++i)
    CHECK(next(done).status == IBV_WC_SUCCESS);
}

}  // namespace waiting_test
