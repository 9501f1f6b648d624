// A device with one fault, to be loaded in front of libibverbs (LD_PRELOAD). FAULT names the fault.
// A case of verbs-semantics must see each fault: tests/rxe says which case.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

bool is_on(std::string_view fault) {
  const char* chosen = std::getenv("FAULT");
  return chosen != nullptr && fault == chosen;
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The provider's own functions; all contexts of a program have the same ones.
ibv_context_ops g_ops;

void spoil(ibv_wc& wc) {
  if (is_on("flush-succeeds") && wc.status == IBV_WC_WR_FLUSH_ERR) wc.status = IBV_WC_SUCCESS;
  if (is_on("wrong-error") && wc.status == IBV_WC_REM_ACCESS_ERR) wc.status = IBV_WC_REM_OP_ERR;
  if (is_on("wrong-number")) wc.qp_num ^= 1;
  if (is_on("wrong-length") && wc.opcode == IBV_WC_RECV) ++wc.byte_len;
  if (is_on("plain-receive") && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) wc.opcode = IBV_WC_RECV;
  if (is_on("no-source")) wc.src_qp = 0;
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* wcs) {
  static ibv_wc held;
  static bool is_held = false;
  // Each second completion comes before the first.
  if (is_on("out-of-order")) {
    if (is_held) {
      is_held = false;
      wcs[0] = held;
      return 1;
    }
    std::array<ibv_wc, 2> two{};
    const int polled = g_ops.poll_cq(cq, 2, two.data());
    if (polled <= 0) return polled;
    wcs[0] = two[static_cast<size_t>(polled - 1)];
    if (polled == 2) held = two[0];
    is_held = polled == 2;
    return 1;
  }
  const int polled = g_ops.poll_cq(cq, count, wcs);
  for (int i = 0; i < polled; ++i)
    spoil(wcs[i]);
  return polled;
}

void spoil(ibv_send_wr& wr, ibv_sge* pieces) {
  if (is_on("always-signalled")) wr.send_flags |= IBV_SEND_SIGNALED;
  if (is_on("no-inline")) wr.send_flags &= ~static_cast<unsigned>(IBV_SEND_INLINE);
  if (is_on("no-immediate") && wr.opcode == IBV_WR_SEND_WITH_IMM) wr.opcode = IBV_WR_SEND;
  if (is_on("add-for-swap") && wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  }
  if (is_on("any-qkey")) wr.wr.ud.remote_qkey = 0x11223344;
  if (is_on("pieces-reversed")) {
    std::copy_n(wr.sg_list, wr.num_sge, pieces);
    std::reverse(pieces, pieces + wr.num_sge);
    wr.sg_list = pieces;
  }
}

int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
  for (ibv_send_wr* wr = list; wr != nullptr; wr = wr->next) {
    ibv_send_wr one = *wr;
    std::array<ibv_sge, 64> pieces;
    one.next = nullptr;
    spoil(one, pieces.data());
    ibv_send_wr* refused = nullptr;
    const int error = g_ops.post_send(qp, &one, &refused);
    if (error != 0 && !is_on("never-refused")) {
      *bad = is_on("wrong-bad") ? list : wr;
      return error;
    }
  }
  return 0;
}

int req_notify_cq(ibv_cq* cq, int solicited_only) {
  return g_ops.req_notify_cq(cq, is_on("all-solicited") ? 0 : solicited_only);
}

}  // namespace

extern "C" {

ibv_context* ibv_open_device(ibv_device* device) {
  ibv_context* context = real<ibv_context*(ibv_device*)>("ibv_open_device")(device);
  if (context == nullptr) return nullptr;
  g_ops = context->ops;
  context->ops.poll_cq = poll_cq;
  context->ops.post_send = post_send;
  context->ops.req_notify_cq = req_notify_cq;
  return context;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  if (is_on("impatient") && (mask & IBV_QP_RNR_RETRY) != 0) attr->rnr_retry = 0;
  const int error = real<int(ibv_qp*, ibv_qp_attr*, int)>("ibv_modify_qp")(qp, attr, mask);
  return is_on("any-step") ? 0 : error;
}

#undef ibv_reg_mr  // a macro that checks another argument
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  if (is_on("all-rights")) access = 15;
  if (is_on("wide-region")) length += 64;
  return real<ibv_mr*(ibv_pd*, void*, size_t, int)>("ibv_reg_mr")(pd, addr, length, access);
}

int ibv_dealloc_pd(ibv_pd* pd) {
  const int error = real<int(ibv_pd*)>("ibv_dealloc_pd")(pd);
  return is_on("never-busy") ? 0 : error;
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  if (is_on("no-limit")) return 0;
  return real<int(ibv_srq*, ibv_srq_attr*, int)>("ibv_modify_srq")(srq, attr, mask);
}

}  // extern "C"
