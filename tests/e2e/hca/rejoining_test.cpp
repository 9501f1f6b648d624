// An engine that was told of a job dies. Its processes, and those that come, have an engine of the
// same job again.
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "hca/include/scela/hca_job.h"
#include "tests/e2e/hca/verbs_program.h"

namespace rejoining_test {

using namespace scela;
using namespace scela::test;

namespace {

constexpr std::uint32_t kNode = 5;

int join(char key = 'k') {
  scela_hca_job job{};
  job.name = "again";
  std::memset(job.key, key, sizeof job.key);
  job.node = kNode;
  job.nodes = 8;
  job.address = "127.0.0.1";
  return scela_hca_join(&job);
}

ibv_context* open_device() {
  ibv_device** list = ibv_get_device_list(nullptr);
  if (list == nullptr) return nullptr;
  ibv_context* const context = list[0] == nullptr ? nullptr : ibv_open_device(list[0]);
  ibv_free_device_list(list);
  return context;
}

// Checks the GID (docs/design/hca.md): its last bytes are twice the node's number.
bool is_of_the_job(ibv_context* context) {
  ibv_gid gid{};
  return context != nullptr && ibv_query_gid(context, 1, 0, &gid) == 0 && gid.raw[0] == 0xfd &&
         gid.raw[14] == 0 && gid.raw[15] == 2 * kNode;
}

// The engine's end is the end of the descriptor of events.
bool kill_engine(ibv_context* context) {
  ucred engine{};
  socklen_t size = sizeof engine;
  if (::getsockopt(context->async_fd, SOL_SOCKET, SO_PEERCRED, &engine, &size) != 0) return false;
  if (engine.pid == ::getpid() || ::kill(engine.pid, SIGKILL) != 0) return false;
  pollfd end{context->async_fd, POLLRDHUP, 0};
  return ::poll(&end, 1, -1) == 1;
}

// A process names its job for good, so each test has a process of its own. It ends with 0, or with
// the number of the step that went wrong.
template <class Run>
pid_t begin(Run&& run) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(run());
  return child;
}
int end(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

// The steps that two processes have reached.
struct Turns {
  std::atomic<std::uint32_t> first{0}, second{0};
};
struct SharedTurns {
  SharedTurns()
      : turns(*new (::mmap(nullptr, sizeof(Turns), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Turns) {}
  ~SharedTurns() { ::munmap(&turns, sizeof(Turns)); }
  Turns& turns;
};

}  // namespace

TEST_CASE("hca joining: a process that opens the device after its engine's death joins the job's") {
  const Place place;
  CHECK(end(begin([] {
          if (join() != 0) return 1;
          ibv_context* const first = open_device();
          if (!is_of_the_job(first)) return 2;
          if (!kill_engine(first)) return 3;
          ibv_context* const second = open_device();
          if (!is_of_the_job(second)) return 4;
          if (ibv_close_device(first) != 0) return 5;
          if (join() != 0) return 6;
          if (join('x') != EEXIST) return 7;
          if (!kill_engine(second)) return 8;
          // The context of the dead engine is still open. That is no use of the device.
          if (join() != 0) return 9;
          ibv_context* const third = open_device();
          if (!is_of_the_job(third)) return 10;
          return ibv_close_device(second) == 0 && ibv_close_device(third) == 0 ? 0 : 11;
        })) == 0);
}

TEST_CASE("hca joining: a process that starts after the engine's death joins the next engine") {
  const Place place;
  const SharedTurns shared;
  Turns& turns = shared.turns;
  const pid_t old = begin([&] {
    if (join() != 0) return 1;
    ibv_context* const first = open_device();
    if (first == nullptr || !kill_engine(first)) return 2;
    tell(turns.first, 1);
    until(turns.second, 1);
    ibv_context* const second = open_device();
    const bool both = is_of_the_job(second);
    tell(turns.first, 2);
    if (!both) return 3;
    return ibv_close_device(first) == 0 && ibv_close_device(second) == 0 ? 0 : 4;
  });
  const pid_t newcomer = begin([&] {
    until(turns.first, 1);
    const int error = join();
    ibv_context* const device = open_device();
    const bool good = error == 0 && is_of_the_job(device);
    tell(turns.second, 1);
    until(turns.first, 2);
    return good && ibv_close_device(device) == 0 ? 0 : 1;
  });
  CHECK(end(newcomer) == 0);
  CHECK(end(old) == 0);
}

TEST_CASE("hca joining: a process that opens the next engine without the job keeps the job out") {
  const Place place;
  const SharedTurns shared;
  Turns& turns = shared.turns;
  const pid_t old = begin([&] {
    if (join() != 0) return 1;
    ibv_context* const first = open_device();
    if (first == nullptr || !kill_engine(first)) return 2;
    tell(turns.first, 1);
    until(turns.second, 1);
    // The process gets no engine without a job, because its addresses would lead nowhere.
    const int error = join();
    ibv_context* const second = open_device();
    tell(turns.first, 2);
    if (error != EBUSY || second != nullptr) return 3;
    until(turns.second, 2);
    // Once that engine has gone there is one of the job.
    ibv_context* const third = open_device();
    if (!is_of_the_job(third)) return 4;
    return ibv_close_device(first) == 0 && ibv_close_device(third) == 0 ? 0 : 5;
  });
  const pid_t stranger = begin([&] {
    until(turns.first, 1);
    // The first call may meet the engine that is dying.
    ibv_context* const met = open_device();
    ibv_context* const device = met != nullptr ? met : open_device();
    const bool good = device != nullptr && !is_of_the_job(device);
    tell(turns.second, 1);
    until(turns.first, 2);
    const bool closed = good && ibv_close_device(device) == 0;
    tell(turns.second, 2);
    return closed ? 0 : 1;
  });
  CHECK(end(stranger) == 0);
  CHECK(end(old) == 0);
}

}  // namespace rejoining_test
