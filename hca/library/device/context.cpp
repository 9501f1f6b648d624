// Opens the device, and fills the tables that the inline functions of hca/library/verbs/verbs.h
// read.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <string>

#include "hca/library/completions/completions.h"
#include "hca/library/device/device.h"
#include "hca/library/link/join.h"
#include "hca/library/link/known_device.h"
#include "hca/library/objects/context.h"
#include "hca/library/requests/requests.h"
#include "hca/library/verbs/guarded.h"

namespace scela::hca::library {

namespace {

void fill_tables(Context& context, ibv_device* device) {
  verbs_context& verbs = context;
  verbs.query_port = query_port;
  verbs.alloc_parent_domain = alloc_parent_domain;
  verbs.alloc_td = alloc_td;
  verbs.dealloc_td = dealloc_td;
  verbs.modify_cq = modify_cq;
  verbs.create_cq_ex = create_cq_ex;
  verbs.query_device_ex = query_device_ex;
  verbs.create_qp_ex = create_qp_ex;
  verbs.get_srq_num = get_srq_num;
  verbs.create_srq_ex = create_srq_ex;
  const std::uint32_t flags = context.link.device().flags;
  if ((flags & device_flag::kNoXrc) == 0) {
    verbs.open_xrcd = open_xrcd;
    verbs.close_xrcd = close_xrcd;
    if ((flags & device_flag::kNoOpenQp) == 0) verbs.open_qp = open_qp;
  }
  verbs.sz = sizeof(verbs_context);

  ibv_context& shown = verbs.context;
  shown.device = device;
  shown.ops.poll_cq = poll_cq;
  shown.ops.req_notify_cq = req_notify_cq;
  shown.ops.post_srq_recv = post_srq_recv;
  shown.ops.post_send = post_send;
  shown.ops.post_recv = post_recv;
  shown.cmd_fd = context.link.socket();
  shown.async_fd = context.link.events();
  shown.num_comp_vectors = 1;
  ::pthread_mutex_init(&shown.mutex, nullptr);
  shown.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

}  // namespace

}  // namespace scela::hca::library

using namespace scela::hca::library;

extern "C" ibv_context* ibv_open_device(ibv_device* device) {
  return guarded([&]() -> ibv_context* {
    // The tables start as zeros: a function that is not filled in is not offered.
    auto made = std::unique_ptr<Context>(new (std::nothrow) Context());
    if (!made) return no<ibv_context>(ENOMEM);
    std::string why;
    const int error = made->link.open(why);
    if (error != 0) {
      std::fprintf(stderr, "libscela-ibverbs: cannot open %s: %s\n", kDeviceName, why.c_str());
      return no<ibv_context>(error);
    }
    fill_tables(*made, device);
    remember(made->link.device());
    count_open(1);
    return &made.release()->context;
  });
}

extern "C" int ibv_close_device(ibv_context* context) {
  Context* const ours = &context_of(context);
  ::pthread_mutex_destroy(&context->mutex);
  delete ours;
  count_open(-1);
  return 0;
}

extern "C" ibv_context* ibv_import_device(int) {
  return no<ibv_context>(EOPNOTSUPP);
}
