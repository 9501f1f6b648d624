// Files that processes hand over to be shared, and what else they may send in their place.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/core/text.h"
#include "hca/core/model/host.h"
#include "hca/engine/daemon/client_connection.h"
#include "hca/engine/memory/pools.h"
#include "tests/e2e/hca/engine_client.h"
#include "tests/support/eventually.h"

namespace pools_test {

using namespace scela;
using namespace scela::hca;
using namespace scela::test;

namespace {

constexpr std::uint64_t kBytes = 64 * 1024;
constexpr std::uint32_t kWrites = 1;  // access::kLocalWrite

Fd memory_file(int seals = F_SEAL_SHRINK, bool filled = true) {
  Fd made(::memfd_create("scela-pool-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(made.get(), kBytes) == 0);
  if (filled) REQUIRE(::fallocate(made.get(), 0, 0, kBytes) == 0);
  if (seals != 0) REQUIRE(::fcntl(made.get(), F_ADD_SEALS, seals) == 0);
  return made;
}

bool send_with(const Client& client, const void* bytes, std::size_t count,
               const std::vector<int>& files) {
  iovec part{const_cast<void*>(bytes), count};
  std::vector<cmsghdr> control((CMSG_SPACE(files.size() * sizeof(int)) / sizeof(cmsghdr)) + 1);
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(head), files.data(), files.size() * sizeof(int));
  }
  return ::sendmsg(client.connection().get(), &message, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(count);
}

struct Sharer {
  explicit Sharer(const EngineProcess& engine) : client(engine.socket()) {
    client.hello();
    ask.operation = Operation::reg_pool;
    ask.pd = client.ask(Operation::alloc_pd).answer.handle;
    ask.length = kBytes;
    ask.access = kWrites;
  }
  Answer hand_over(const std::vector<int>& files) const {
    REQUIRE(send_with(client, &ask, sizeof ask, files));
    const Reply reply = client.receive();
    REQUIRE(reply.came);
    return reply.answer;
  }
  std::uint32_t error_of(const Fd& file) const { return hand_over({file.get()}).error; }
  Client client;
  Ask ask;
};

// Counts the engine's mappings of files of that name.
int mapped_by(const EngineProcess& engine) {
  std::ifstream maps(cat("/proc/", engine.pid(), "/maps"));
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:scela-pool-test") != line.npos) ++count;
  return count;
}

std::ptrdiff_t descriptors_of(const EngineProcess& engine) {
  return std::distance(std::filesystem::directory_iterator(cat("/proc/", engine.pid(), "/fd")),
                       std::filesystem::directory_iterator());
}

}  // namespace

TEST_CASE("a file in memory is mapped as long as it is registered, and no descriptor is kept") {
  EngineProcess engine;
  Sharer sharer(engine);
  const auto before = descriptors_of(engine);
  const Fd file = memory_file();
  const Answer one = sharer.hand_over({file.get()}), other = sharer.hand_over({file.get()});
  REQUIRE(one.error == 0);
  REQUIRE(other.error == 0);
  CHECK(mapped_by(engine) >= 1);
  CHECK(descriptors_of(engine) == before);
  Ask ask;
  ask.operation = Operation::dereg_mr;
  for (const std::uint32_t handle : {one.handle, other.handle}) {
    ask.handle = handle;
    CHECK(sharer.client.ask(ask).answer.error == 0);
  }
  CHECK(mapped_by(engine) == 0);
}

TEST_CASE(
    "a file or part that can be no pool is refused and not mapped, and the connection goes on") {
  EngineProcess engine;
  Sharer sharer(engine);
  const Fd good = memory_file();
  SECTION("the file") {
    CHECK(sharer.error_of(memory_file(0)) == EINVAL);
    CHECK(sharer.error_of(memory_file(F_SEAL_GROW)) == EINVAL);
    CHECK(sharer.error_of(memory_file(F_SEAL_SHRINK, false)) == EFAULT);
    CHECK(sharer.error_of(memory_file(F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE)) == EACCES);
    CHECK(sharer.error_of(Fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC))) == EINVAL);
    CHECK(sharer.error_of(Fd(::open("/dev/null", O_RDWR | O_CLOEXEC))) == EINVAL);
    CHECK(sharer.error_of(Fd(::dup(sharer.client.connection().get()))) == EINVAL);
    const Fd reading(::open(cat("/proc/self/fd/", good.get()).c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(sharer.error_of(reading) == EACCES);
    CHECK(sharer.hand_over({}).error == EBADF);
  }
  SECTION("the part of it") {
    const std::vector<std::pair<std::uint64_t, std::uint64_t>> parts{
        {0, kBytes + 1}, {8, ~0ULL - 4}, {~0ULL - 4, 8}, {kBytes + 1, 1}, {0, 0}, {kPools, kPools}};
    for (const auto& [offset, length] : parts) {
      sharer.ask.address = offset;
      sharer.ask.length = length;
      CHECK(sharer.error_of(good) == EINVAL);
    }
  }
  SECTION("what it is registered as") {
    sharer.ask.iova = ~0ULL - 8;
    CHECK(sharer.error_of(good) == EINVAL);
    sharer.ask.iova = 0;
    sharer.ask.access = 2;  // others write what its owner may not
    CHECK(sharer.error_of(good) == EINVAL);
    sharer.ask.access = kWrites;
    ++sharer.ask.pd;
    CHECK(sharer.error_of(good) == EINVAL);
  }
  SECTION("memory that is named as if it were one") {
    REQUIRE(sharer.error_of(good) == 0);
    sharer.ask.operation = Operation::reg_mr;
    sharer.ask.address = kPools;
    CHECK(sharer.client.ask(sharer.ask).answer.error == EINVAL);
    REQUIRE(mapped_by(engine) == 1);
    return;
  }
  CHECK(mapped_by(engine) == 0);
  CHECK(sharer.client.ask(Operation::alloc_pd).answer.error == 0);
}

TEST_CASE("descriptors that the engine did not ask for end the connection and are closed") {
  EngineProcess engine;
  const auto before = descriptors_of(engine);
  {
    Sharer sharer(engine);
    const Fd file = memory_file();
    const int number = file.get();
    Ask other;
    other.operation = Operation::alloc_pd;
    const StatusAsk status;
    SECTION("with another ask") {
      REQUIRE(send_with(sharer.client, &other, sizeof other, {number}));
    }
    SECTION("with a question for the status") {
      REQUIRE(send_with(sharer.client, &status, sizeof status, {number}));
    }
    SECTION("with nothing that is known") {
      REQUIRE(send_with(sharer.client, &other, 5, {number}));
    }
    SECTION("two") {
      REQUIRE(send_with(sharer.client, &sharer.ask, sizeof sharer.ask, {number, number}));
    }
    SECTION("as many as go") {
      REQUIRE(
          send_with(sharer.client, &sharer.ask, sizeof sharer.ask, std::vector<int>(253, number)));
    }
    CHECK(sharer.client.receive().answer.error == EPROTO);
    CHECK(sees_end(sharer.client.connection()));
  }
  CHECK(eventually([&] { return descriptors_of(engine) == before; }));
  CHECK(mapped_by(engine) == 0);
}

TEST_CASE("a process may have thousands of pools, which end with it") {
  EngineProcess engine;
  Sharer another(engine);
  {
    Sharer sharer(engine);
    const Fd file = memory_file();
    std::size_t made = 0, refused = 0;
    for (int i = 0; i < 2000; ++i) {
      const std::uint32_t error = sharer.error_of(file);
      made += error == 0 ? 1 : 0;
      refused += error == ENOMEM ? 1 : 0;
    }
    CHECK(made == Pools::kMax);
    CHECK(made + refused == 2000);
    CHECK(another.error_of(file) == 0);
  }
  CHECK(eventually([&] { return mapped_by(engine) == 1; }));
  CHECK(another.client.ask(Operation::alloc_pd).answer.error == 0);
}

TEST_CASE("an engine that may hold no more descriptors says so, and goes on") {
  EngineProcess engine;
  Sharer sharer(engine);
  const Fd file = memory_file();
  rlimit before{};
  REQUIRE(::prlimit(engine.pid(), RLIMIT_NOFILE, nullptr, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 3;
  REQUIRE(::prlimit(engine.pid(), RLIMIT_NOFILE, &few, nullptr) == 0);
  CHECK(sharer.error_of(file) == EMFILE);
  REQUIRE(::prlimit(engine.pid(), RLIMIT_NOFILE, &before, nullptr) == 0);
  CHECK(sharer.error_of(file) == 0);
}

}  // namespace pools_test
