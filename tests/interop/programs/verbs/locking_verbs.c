/* The software adapter as a card's driver would have it: registered memory is locked, as much as
 * RLIMIT_MEMLOCK allows (ib_umem_get of the kernel). All functions that are not defined here come
 * from the library that this one is linked to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <sys/resource.h>

#undef ibv_reg_mr

static atomic_size_t locked;

struct ibv_mr* ibv_reg_mr(struct ibv_pd* pd, void* address, size_t bytes, int access);
struct ibv_mr* ibv_reg_mr(struct ibv_pd* pd, void* address, size_t bytes, int access) {
  struct ibv_mr* (*real)(struct ibv_pd*, void*, size_t, int);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_reg_mr");
  struct rlimit limit;
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (atomic_fetch_add(&locked, bytes) + bytes > limit.rlim_cur) {
    atomic_fetch_sub(&locked, bytes);
    errno = ENOMEM;
    return NULL;
  }
  return real(pd, address, bytes, access);
}

int ibv_dereg_mr(struct ibv_mr* mr) {
  int (*real)(struct ibv_mr*);
  *(void**)&real = dlsym(RTLD_NEXT, "ibv_dereg_mr");
  atomic_fetch_sub(&locked, mr->length);
  return real(mr);
}
