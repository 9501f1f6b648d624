// Protection domains and registered memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "common/os/sealed_memory.h"
#include "common/os/syscall.h"
#include "hca/library/device/device.h"
#include "hca/library/objects/context.h"
#include "hca/library/objects/domains.h"
#include "hca/library/verbs/guarded.h"

// The functions that this header declares are for programs.
#pragma GCC visibility push(default)
#include "hca/include/scela/hca_memory.h"
#pragma GCC visibility pop

namespace scela::hca::library {

namespace {

constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB;

// Returns true if the whole range is mapped. A real driver learns this when it pins the pages.
bool is_mapped(std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t kPages = 4096;  // pages that one call looks at
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  unsigned char pages[kPages];
  const std::uint64_t end = address + bytes;
  if (end < address) return false;
  for (std::uint64_t at = address / page * page; at < end; at += kPages * page) {
    const std::uint64_t part = std::min(end - at, kPages * page);
    if (::mincore(reinterpret_cast<void*>(at), part, pages) != 0 && errno == ENOMEM) return false;
  }
  return true;
}

// The registration as a program sees it. It also holds the memory if the library has allocated
// that.
struct Registered : ibv_mr {
  std::optional<SealedMemory> memory;
};

// Removes the optional access flags. Returns 0 or an errno.
int judge_access(unsigned& access) {
  access &= ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);  // wishes, not demands
  if ((access & ~kKnownAccess) != 0) return EOPNOTSUPP;
  constexpr unsigned kWrites = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  return (access & kWrites) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0 ? EINVAL : 0;
}

Registered* finish(std::unique_ptr<Registered> made, ibv_pd* pd, std::uint64_t address,
                   const Ask& asked, const Answer& answer) {
  if (answer.error != 0) return no<Registered>(static_cast<int>(answer.error));
  made->context = pd->context;
  made->pd = pd;
  made->addr = reinterpret_cast<void*>(address);  // NOLINT: as the program has named it
  made->length = asked.length;
  made->handle = answer.handle;
  made->lkey = answer.number;
  made->rkey = answer.number;
  return made.release();
}

// Builds the question. `address` is the address of the memory, or an offset in a pool's file.
Ask registration(Operation operation, ibv_pd* pd, std::uint64_t address, std::uint64_t length,
                 std::uint64_t iova, unsigned access) {
  Ask ask;
  ask.operation = operation;
  ask.pd = pd->handle;
  ask.address = address;
  ask.length = length;
  ask.iova = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
  ask.access = access & ~static_cast<unsigned>(IBV_ACCESS_HUGETLB);
  return ask;
}

ibv_mr* register_memory(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        unsigned access) {
  if (const int error = judge_access(access)) return no<ibv_mr>(error);
  const auto start = reinterpret_cast<std::uint64_t>(address);
  if (!is_mapped(start, length)) return no<ibv_mr>(EFAULT);
  auto made = std::unique_ptr<Registered>(new (std::nothrow) Registered{});
  if (!made) return no<ibv_mr>(ENOMEM);
  const Ask ask = registration(Operation::reg_mr, pd, start, length, iova, access);
  return finish(std::move(made), pd, start, ask, context_of(pd->context).link.ask(ask));
}

// Allocates all pages of the range now. They are charged to the program and its control group, not
// to the engine. Returns 0 or an errno.
int fill(const Fd& file, std::uint64_t offset, std::uint64_t length) {
  constexpr std::uint64_t kPiece = 64ULL << 20;  // a signal undoes the piece in progress
  for (std::uint64_t done = 0; done < length; done += kPiece) {
    const auto begin = static_cast<off_t>(offset + done);
    const auto bytes = static_cast<off_t>(std::min(kPiece, length - done));
    if (retry([&] { return ::fallocate(file.get(), 0, begin, bytes); }) == 0) continue;
    // The file is not open for writing. Its pages may exist already.
    if (errno != EBADF && errno != EPERM) return ENOMEM;
  }
  return 0;
}

Registered* register_pool(ibv_pd* pd, std::uint64_t offset, std::uint64_t length,
                          std::uint64_t iova, const Fd& file, unsigned access) {
  if (const int error = judge_access(access)) return no<Registered>(error);
  struct stat status {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file.get(), &status) != 0)
    return no<Registered>(EINVAL);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (length == 0 || offset > size || length > size - offset) return no<Registered>(EINVAL);
  if (const int error = fill(file, offset, length)) return no<Registered>(error);
  auto made = std::unique_ptr<Registered>(new (std::nothrow) Registered{});
  if (!made) return no<Registered>(ENOMEM);
  const Ask ask = registration(Operation::reg_pool, pd, offset, length, iova, access);
  const Answer answer = context_of(pd->context).link.hand_over(ask, file);
  return finish(std::move(made), pd, offset, ask, answer);
}

struct Td : ibv_td {
  std::atomic<int> parents{0};
};

struct ParentDomain : Pd {
  Td* td = nullptr;
};

}  // namespace

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  // Allocators are for a driver's queues. Here the queues lie in the engine's memory.
  constexpr std::uint32_t kKnown =
      IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if ((attributes->comp_mask & ~kKnown) != 0 || attributes->pd == nullptr) {
    return no<ibv_pd>(EINVAL);
  }
  auto* const made = new (std::nothrow) ParentDomain();
  if (made == nullptr) return no<ibv_pd>(ENOMEM);
  made->context = context;
  made->handle = attributes->pd->handle;
  made->of = &pd_of(attributes->pd);
  ++made->of->parents;
  made->td = static_cast<Td*>(attributes->td);
  if (made->td != nullptr) ++made->td->parents;
  return made;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes) {
  if (attributes->comp_mask != 0) return no<ibv_td>(EINVAL);
  auto* const made = new (std::nothrow) Td();
  if (made == nullptr) return no<ibv_td>(ENOMEM);
  made->context = context;
  return made;
}

int dealloc_td(ibv_td* td) {
  if (static_cast<Td*>(td)->parents > 0) return EBUSY;
  delete static_cast<Td*>(td);
  return 0;
}

}  // namespace scela::hca::library

using namespace scela::hca;
using namespace scela::hca::library;

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return guarded([&]() -> ibv_pd* {
    auto made = std::make_unique<Pd>();
    Ask ask;
    ask.operation = Operation::alloc_pd;
    const Answer answer = context_of(context).link.ask(ask);
    if (answer.error != 0) return no<ibv_pd>(static_cast<int>(answer.error));
    made->context = context;
    made->handle = answer.handle;
    return made.release();
  });
}

int ibv_dealloc_pd(ibv_pd* pd) {
  return guarded([&]() -> int {
    Pd& ours = pd_of(pd);
    if (ours.parents > 0) return EBUSY;
    if (ours.of != nullptr) {
      auto* const parent = static_cast<ParentDomain*>(&ours);
      --parent->of->parents;
      if (parent->td != nullptr) --parent->td->parents;
      delete parent;
      return 0;
    }
    Ask ask;
    ask.operation = Operation::dealloc_pd;
    ask.handle = pd->handle;
    const Answer answer = context_of(pd->context).link.ask(ask);
    // If the engine has gone, its objects have gone too.
    if (answer.error != 0 && answer.error != EIO) return static_cast<int>(answer.error);
    delete &ours;
    return 0;
  });
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return guarded([&] {
    return register_memory(pd, address, length, reinterpret_cast<std::uint64_t>(address),
                           static_cast<unsigned>(access));
  });
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        int access) {
  return guarded(
      [&] { return register_memory(pd, address, length, iova, static_cast<unsigned>(access)); });
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
  return guarded([&] { return register_memory(pd, address, length, iova, access); });
}

// Takes memory files (memfd), like those that the kernel's udmabuf takes.
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                          int fd, int access) {
  return guarded([&]() -> ibv_mr* {
    // The program may close its own descriptor at any time.
    const scela::Fd file(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!file) return nullptr;
    return register_pool(pd, offset, length, iova, file, static_cast<unsigned>(access));
  });
}

ibv_mr* scela_hca_alloc_mr(ibv_pd* pd, std::size_t length, int access) {
  return guarded([&]() -> ibv_mr* {
    if (length == 0 || length > limit::kMrBytes) return no<ibv_mr>(EINVAL);
    auto memory =
        scela::SealedMemory::make("scela-hca-pool", length, scela::SealedMemory::Writers::all);
    if (!memory) return no<ibv_mr>(ENOMEM);
    void* const base = memory->base();
    Registered* const made = register_pool(pd, 0, length, reinterpret_cast<std::uint64_t>(base),
                                           memory->fd(), static_cast<unsigned>(access));
    if (made == nullptr) return nullptr;
    made->addr = base;
    memory->close_fd();
    made->memory = std::move(*memory);
    return made;
  });
}

int ibv_rereg_mr(ibv_mr*, int, ibv_pd*, void*, std::size_t, int) {
  errno = EOPNOTSUPP;
  return IBV_REREG_MR_ERR_INPUT;
}

int ibv_dereg_mr(ibv_mr* mr) {
  return guarded([&]() -> int {
    Ask ask;
    ask.operation = Operation::dereg_mr;
    ask.handle = mr->handle;
    const Answer answer = context_of(mr->context).link.ask(ask);
    if (answer.error != 0 && answer.error != EIO) return static_cast<int>(answer.error);
    delete static_cast<Registered*>(mr);
    return 0;
  });
}

ibv_pd* ibv_import_pd(ibv_context*, std::uint32_t) {
  return no<ibv_pd>(EOPNOTSUPP);
}

void ibv_unimport_pd(ibv_pd*) {}

ibv_mr* ibv_import_mr(ibv_pd*, std::uint32_t) {
  return no<ibv_mr>(EOPNOTSUPP);
}

void ibv_unimport_mr(ibv_mr*) {}

ibv_dm* ibv_import_dm(ibv_context*, std::uint32_t) {
  return no<ibv_dm>(EOPNOTSUPP);
}

void ibv_unimport_dm(ibv_dm*) {}

// The engine reaches memory by address, so a fork takes no memory away from it.
int ibv_fork_init() {
  return 0;
}

ibv_fork_status ibv_is_fork_initialized() {
  return IBV_FORK_UNNEEDED;
}

int ibv_dontfork_range(void*, std::size_t) {
  return 0;
}

int ibv_dofork_range(void*, std::size_t) {
  return 0;
}

}  // extern "C"
