// Memory that programs share with the engine (scela/hca_memory.h), as they meet it.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <new>

#include "common/os/fd.h"
#include "hca/include/scela/hca_memory.h"
#include "tests/e2e/hca/verbs_program.h"
#include "tests/support/stop.h"

namespace shared_pools_test {

using namespace scela;
using namespace scela::test;

namespace {

constexpr std::uint32_t kBytes = 200'000;
constexpr int kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

// Registered memory of either kind; it goes with the program's other objects.
struct Memory {
  Memory(Verbs& verbs, bool in_pool, std::uint32_t bytes) : own(in_pool ? 0 : bytes) {
    mr = in_pool ? scela_hca_alloc_mr(verbs.pd, bytes, kRights)
                 : ibv_reg_mr(verbs.pd, own.data(), bytes, kRights);
    REQUIRE(mr != nullptr);
    verbs.mrs.push_back(mr);
  }
  unsigned char* at() const { return static_cast<unsigned char*>(mr->addr); }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(mr->addr); }
  ibv_sge all() const { return {address(), static_cast<std::uint32_t>(mr->length), mr->lkey}; }
  std::vector<unsigned char> own;
  ibv_mr* mr = nullptr;
};

ibv_wc_status write_to(ibv_qp* qp, ibv_cq* cq, ibv_sge from, std::uint64_t address,
                       std::uint32_t key) {
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &from;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = address;
  wr.wr.rdma.rkey = key;
  REQUIRE(ibv_post_send(qp, &wr, &bad) == 0);
  return next(cq).status;
}

// A file in memory that cannot shrink, mapped as a program would.
struct File {
  File() : fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    REQUIRE(::ftruncate(fd.get(), kBytes) == 0);
    REQUIRE(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  }
  std::vector<unsigned char> bytes() const {
    std::vector<unsigned char> all(kBytes);
    REQUIRE(::pread(fd.get(), all.data(), all.size(), 0) == kBytes);
    return all;
  }
  Fd fd;
};

int mappings_of_pools() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:scela-hca-pool") != line.npos) ++count;
  return count;
}

}  // namespace

TEST_CASE("hca pools: messages and writes go between pools, and between one and other memory") {
  const Place place;
  Verbs one, other;
  ibv_cq *done = one.cq(), *came = other.cq();
  ibv_qp *from = one.rc(done, done), *to = other.rc(came, came);
  one.connect(from, to->qp_num);
  other.connect(to, from->qp_num);
  const bool here_in_pool = GENERATE(true, false), there_in_pool = GENERATE(true, false);
  const Memory here(one, here_in_pool, kBytes), there(other, there_in_pool, kBytes);
  for (std::uint32_t i = 0; i < kBytes; ++i)
    here.at()[i] = static_cast<unsigned char>(i * 31 + i / 4096);
  CHECK(write_to(from, done, here.all(), there.address(), there.mr->rkey) == IBV_WC_SUCCESS);
  CHECK(std::memcmp(here.at(), there.at(), kBytes) == 0);

  std::memset(there.at(), 0, kBytes);
  post_recv(to, there.all());
  post_send(from, here.all(), IBV_SEND_SIGNALED);
  CHECK(next(done).status == IBV_WC_SUCCESS);
  CHECK(next(came).status == IBV_WC_SUCCESS);
  CHECK(std::memcmp(here.at(), there.at(), kBytes) == 0);

  // A write one byte beyond the end of the memory fails.
  CHECK(write_to(from, done, here.all(), there.address() + 1, there.mr->rkey) ==
        IBV_WC_REM_ACCESS_ERR);
}

TEST_CASE("hca pools: memory that a program gives up goes on being written in its file") {
  const Place place;
  Verbs verbs;
  ibv_cq* done = verbs.cq();
  ibv_qp *from = verbs.rc(done, done), *to = verbs.rc(done, done);
  verbs.connect(from, to->qp_num);
  verbs.connect(to, from->qp_num);
  const File file;
  void* const mapped =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  const auto address = reinterpret_cast<std::uint64_t>(mapped);
  ibv_mr* const mr = ibv_reg_dmabuf_mr(verbs.pd, 0, kBytes, address, file.fd.get(), kRights);
  REQUIRE(mr != nullptr);
  verbs.mrs.push_back(mr);
  const Memory source(verbs, true, kBytes);
  std::memset(source.at(), 7, kBytes);

  // Another mapping is at that address then.
  REQUIRE(::munmap(mapped, kBytes) == 0);
  void* const instead = ::mmap(mapped, kBytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  REQUIRE(instead == mapped);
  CHECK(write_to(from, done, source.all(), address, mr->rkey) == IBV_WC_SUCCESS);
  CHECK(file.bytes() == std::vector<unsigned char>(kBytes, 7));
  CHECK(static_cast<unsigned char*>(instead)[0] == 0);

  // Pages that are punched out of the file are there again.
  REQUIRE(::fallocate(file.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes) == 0);
  CHECK(write_to(from, done, source.all(), address, mr->rkey) == IBV_WC_SUCCESS);
  CHECK(file.bytes() == std::vector<unsigned char>(kBytes, 7));
  ::munmap(instead, kBytes);
}

TEST_CASE("hca pools: allocated memory is zeros and ends with its registration") {
  const Place place;
  Verbs verbs;
  const int before = mappings_of_pools();
  ibv_mr* const mr = scela_hca_alloc_mr(verbs.pd, 5000, kRights);
  REQUIRE(mr != nullptr);
  CHECK(mr->length == 5000);
  CHECK(reinterpret_cast<std::uint64_t>(mr->addr) % 4096 == 0);
  const auto* const bytes = static_cast<unsigned char*>(mr->addr);
  CHECK(std::vector<unsigned char>(bytes, bytes + 5000) == std::vector<unsigned char>(5000));
  CHECK(mappings_of_pools() == before + 1);
  CHECK(ibv_dereg_mr(mr) == 0);
  CHECK(mappings_of_pools() == before);
}

TEST_CASE("hca pools: memory that cannot be a pool is refused with the reason") {
  const Place place;
  Verbs verbs;
  const auto error_of = [&](const ibv_mr* mr) { return mr == nullptr ? errno : 0; };
  const File file;
  const auto share = [&](std::uint64_t offset, std::size_t length, int fd, int access = kRights) {
    errno = 0;
    return error_of(ibv_reg_dmabuf_mr(verbs.pd, offset, length, 4096, fd, access));
  };
  const int fd = file.fd.get();
  CHECK(share(0, kBytes, -1) == EBADF);
  CHECK(share(0, kBytes, STDIN_FILENO) == EINVAL);
  CHECK(share(0, kBytes + 1, fd) == EINVAL);
  CHECK(share(8, SIZE_MAX - 4, fd) == EINVAL);
  CHECK(share(0, 0, fd) == EINVAL);
  CHECK(share(0, kBytes, fd, IBV_ACCESS_REMOTE_WRITE) == EINVAL);
  CHECK(share(0, kBytes, fd, IBV_ACCESS_ON_DEMAND) == EOPNOTSUPP);
  const Fd shrinks(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(shrinks.get(), kBytes) == 0);
  CHECK(share(0, kBytes, shrinks.get()) == EINVAL);
  CHECK(error_of(scela_hca_alloc_mr(verbs.pd, 0, kRights)) == EINVAL);
  CHECK(error_of(scela_hca_alloc_mr(verbs.pd, SIZE_MAX, kRights)) == EINVAL);
  // The connection to the engine still works.
  CHECK(ibv_dereg_mr(scela_hca_alloc_mr(verbs.pd, 1, kRights)) == 0);
}

// Each link waits for numbers, adds others to them and sends the sums on. All memory of the poster
// is in a pool, so this works even if the kernel does not let the engine reach a program's memory.
TEST_CASE("hca pools: chains receive, compute and send while their poster is stopped") {
  const Place place;
  constexpr std::uint32_t kLinks = 20, kNumbers = 1000;
  constexpr std::uint32_t kEach = kNumbers * sizeof(std::uint64_t);
  struct Shared {
    std::atomic<std::uint32_t> ready{0}, go{0};
    std::uint32_t number = 0, partner = 0;
  };
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const shared = new (memory) Shared;
  const pid_t poster = ::fork();
  REQUIRE(poster >= 0);
  if (poster == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Verbs verbs;
    ibv_cq *sent = verbs.cq(), *arrivals = verbs.cq();
    ibv_qp* const qp = verbs.rc(sent, arrivals, SCELA_QP_MANAGED_SEND);
    ibv_qp* const manager = verbs.mq(sent);
    const Memory pool(verbs, true, 3 * kEach);
    const auto part = [&](std::uint64_t which) {
      return ibv_sge{pool.address() + which * kEach, kEach, pool.mr->lkey};
    };
    auto* const numbers = reinterpret_cast<std::uint64_t*>(pool.at());
    for (std::uint32_t i = 0; i < kNumbers; ++i)
      numbers[kNumbers + i] = i;
    shared->number = qp->qp_num;
    tell(shared->ready, 1);
    until(shared->go, 1);
    verbs.connect(qp, shared->partner);
    for (std::uint32_t i = 0; i < kLinks; ++i) {
      post_recv(qp, part(0));
      post_send(qp, part(2));
      post(manager, wait(arrivals, 1, true));
      ibv_sge list[] = {part(2), part(0), part(1)};
      scela_task sum{};
      sum.opcode = SCELA_TASK_CALC;
      sum.u.calc = {SCELA_CALC_SUM, SCELA_CALC_UINT64, list, 3};
      post(manager, sum);
      post(manager, enable(qp, 1));
    }
    tell(shared->ready, 2);
    for (;;)
      ::pause();
  }
  {
    Verbs verbs;
    ibv_cq *sent = verbs.cq(), *came = verbs.cq();
    ibv_qp* const qp = verbs.rc(sent, came);
    const Memory out(verbs, false, kEach), in(verbs, false, kEach);
    auto* const sums = reinterpret_cast<std::uint64_t*>(in.at());
    auto* const numbers = reinterpret_cast<std::uint64_t*>(out.at());
    until(shared->ready, 1);
    verbs.connect(qp, shared->number);
    shared->partner = qp->qp_num;
    tell(shared->go, 1);
    until(shared->ready, 2);
    stop(poster);
    for (std::uint64_t link = 0; link < kLinks; ++link) {
      std::fill(numbers, numbers + kNumbers, 1000 * link);
      post_recv(qp, in.all());
      post_send(qp, out.all(), IBV_SEND_SIGNALED);
      REQUIRE(next(sent).status == IBV_WC_SUCCESS);
      REQUIRE(next(came).status == IBV_WC_SUCCESS);
      std::uint32_t wrong = 0;
      for (std::uint64_t i = 0; i < kNumbers; ++i)
        wrong += sums[i] == 1000 * link + i ? 0 : 1;
      CHECK(wrong == 0);
    }
    int status = 0;
    CHECK(::kill(poster, SIGKILL) == 0);
    CHECK(::waitpid(poster, &status, 0) == poster);
  }
  ::munmap(memory, sizeof(Shared));
}

}  // namespace shared_pools_test
