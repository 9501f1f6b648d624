// Protection domains and registered memory.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "hca/library/objects.h"

namespace scela::hca::library {

namespace {

constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB;

// Whether all of it is mapped, as the kernel finds out by pinning it.
bool is_mapped(std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t kPages = 4096;  // looked at with one call
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

ibv_mr* register_memory(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        unsigned access) {
  Context& context = context_of(pd->context);
  access &= ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);  // wishes, not demands
  if ((access & ~kKnownAccess) != 0) return no<ibv_mr>(EOPNOTSUPP);
  constexpr unsigned kWrites = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  if ((access & kWrites) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return no<ibv_mr>(EINVAL);
  const auto start = reinterpret_cast<std::uint64_t>(address);
  if (!is_mapped(start, length)) return no<ibv_mr>(EFAULT);
  auto made = std::unique_ptr<ibv_mr>(new (std::nothrow) ibv_mr{});
  if (!made) return no<ibv_mr>(ENOMEM);
  Ask ask;
  ask.operation = Operation::reg_mr;
  ask.pd = pd->handle;
  ask.address = start;
  ask.length = length;
  ask.iova = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
  ask.access = access & ~static_cast<unsigned>(IBV_ACCESS_HUGETLB);
  const Answer answer = context.link.ask(ask);
  if (answer.error != 0) return no<ibv_mr>(static_cast<int>(answer.error));
  made->context = pd->context;
  made->pd = pd;
  made->addr = address;
  made->length = length;
  made->handle = answer.handle;
  made->lkey = answer.number;
  made->rkey = answer.number;
  return made.release();
}

struct Td : ibv_td {
  std::atomic<int> parents{0};
};

struct ParentDomain : Pd {
  Td* td = nullptr;
};

}  // namespace

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  // Allocators are for the queues of a driver; these stand in memory of the engine's.
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
    // With the engine its objects have gone.
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

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
  return no<ibv_mr>(EOPNOTSUPP);
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
    delete mr;
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

// The engine reaches memory by address: a fork takes nothing away from it.
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
