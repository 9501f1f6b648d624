#include "comm-channel/verbs/verbs_handles.h"

#include <fcntl.h>

#include <cerrno>

#include "common/core/text.h"

namespace scela::channel::verbs {

namespace {

// Returns the object, or the error that the verb left in errno.
template <class Object>
Result<Handle<Object>> made(Object* object, const char* what, const ibv_context* context,
                            int (*destroy)(Object*), typename Handle<Object>::Keeps keeps) {
  const int number = errno;
  if (object == nullptr) return fail(verbs_error(what, context, number));
  return Handle<Object>(object, destroy, std::move(keeps));
}

}  // namespace

std::string hint_of(int number) {
  switch (number) {
    case ENOMEM:
    case EAGAIN:
      return "raise the limit of locked memory (ulimit -l unlimited); else the device has no more "
             "of these: use fewer ranks on the node";
    case EFAULT:
      return "a buffer was freed, or is smaller than said; it belongs to the channel until its "
             "request is complete";
    case EPROTO:
      return "the engine (scela-hca) is of another version than libscela-ibverbs.so.1: run all of "
             "the node's programs, and scela-run, from one installation";
    case EOPNOTSUPP:
    case ENOSYS:
      return "this device cannot do it: choose another one by SCELA_CHANNEL_DEVICE or "
             "SCELA_CHANNEL_VERBS";
    case EACCES:
    case EPERM:
      return "see that this user may open the files below /dev/infiniband";
    case EIO:
    case ENODEV:
      return "the device is gone, or its engine (scela-hca) has ended";
    default:
      return "";
  }
}

Error verbs_error(const std::string& what, const ibv_context* context, int number) {
  const char* const device =
      context == nullptr || context->device == nullptr ? "?" : context->device->name;
  return Error{number == EFAULT ? ErrorKind::usage : ErrorKind::io, cat(what, " on ", device), "",
               errno_text(number), hint_of(number)};
}

Result<Pd> alloc_pd(const Symbols& symbols, const Context& context) {
  return made(symbols.ibv_alloc_pd(context.get()), "allocate a protection domain", context.get(),
              symbols.ibv_dealloc_pd, {context.keep()});
}

Result<Mr> reg_mr(const Symbols& symbols, const Pd& pd, void* address, std::size_t bytes,
                  int access) {
  auto region = made((symbols.ibv_reg_mr)(pd.get(), address, bytes, access), "register memory",
                     pd->context, symbols.ibv_dereg_mr, {pd.keep()});
  if (!region) region.error().what += cat(", ", bytes, " bytes");
  return region;
}

Result<CompChannel> create_comp_channel(const Symbols& symbols, const Context& context) {
  return made(symbols.ibv_create_comp_channel(context.get()), "create a completion channel",
              context.get(), symbols.ibv_destroy_comp_channel, {context.keep()});
}

Result<Cq> create_cq(const Symbols& symbols, const Context& context, int entries,
                     const CompChannel& channel) {
  return made(symbols.ibv_create_cq(context.get(), entries, nullptr, channel.get(), 0),
              "create a completion queue", context.get(), symbols.ibv_destroy_cq,
              {context.keep(), channel.keep()});
}

Result<Srq> create_srq(const Symbols& symbols, const Pd& pd, std::uint32_t requests) {
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = requests;
  attributes.attr.max_sge = 1;
  return made(symbols.ibv_create_srq(pd.get(), &attributes), "create a shared receive queue",
              pd->context, symbols.ibv_destroy_srq, {pd.keep()});
}

Result<Xrcd> open_xrcd(const Context& context, int file) {
  ibv_xrcd_init_attr attributes{};
  attributes.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  attributes.fd = file;
  attributes.oflags = O_CREAT;
  return made(ibv_open_xrcd(context.get(), &attributes), "open an XRC domain", context.get(),
              +[](ibv_xrcd* xrcd) { return ibv_close_xrcd(xrcd); }, {context.keep()});
}

Result<Srq> create_xrc_srq(const Symbols& symbols, const Pd& pd, const Xrcd& xrcd,
                           const Cq& completions, std::uint32_t requests) {
  constexpr char kWhat[] = "create an XRC shared receive queue";
  verbs_context* const table = verbs_get_ctx_op(pd->context, create_srq_ex);
  if (table == nullptr) return fail(verbs_error(kWhat, pd->context, EOPNOTSUPP));
  ibv_srq_init_attr_ex attributes{};
  attributes.attr.max_wr = requests;
  attributes.attr.max_sge = 1;
  attributes.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  attributes.srq_type = IBV_SRQT_XRC;
  attributes.pd = pd.get();
  attributes.xrcd = xrcd.get();
  attributes.cq = completions.get();
  return made(table->create_srq_ex(pd->context, &attributes), kWhat, pd->context,
              symbols.ibv_destroy_srq, {pd.keep(), xrcd.keep(), completions.keep()});
}

Result<Qp> create_qp(const Symbols& symbols, const Pd& pd, ibv_qp_type type, const Cq& sends,
                     const Cq& receives, const Srq& srq, const QueueSizes& sizes) {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = type;
  attributes.send_cq = sends.get();
  attributes.recv_cq = receives.get();
  attributes.srq = srq.get();
  attributes.cap = {sizes.sends, srq ? 0 : sizes.receives, sizes.send_pieces,
                    srq ? 0 : sizes.receive_pieces, sizes.inline_bytes};
  return made(symbols.ibv_create_qp(pd.get(), &attributes),
              type == IBV_QPT_UD ? "create a UD queue pair" : "create an RC queue pair",
              pd->context, symbols.ibv_destroy_qp,
              {pd.keep(), sends.keep(), receives.keep(), srq.keep()});
}

Result<Qp> create_xrc_send_qp(const Symbols& symbols, const Pd& pd, const Cq& sends,
                              const QueueSizes& sizes) {
  constexpr char kWhat[] = "create an XRC_SEND queue pair";
  verbs_context* const table = verbs_get_ctx_op(pd->context, create_qp_ex);
  if (table == nullptr) return fail(verbs_error(kWhat, pd->context, EOPNOTSUPP));
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_XRC_SEND;
  attributes.send_cq = sends.get();
  attributes.cap = {sizes.sends, 0, sizes.send_pieces, 0, sizes.inline_bytes};
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  attributes.pd = pd.get();
  return made(table->create_qp_ex(pd->context, &attributes), kWhat, pd->context,
              symbols.ibv_destroy_qp, {pd.keep(), sends.keep()});
}

Result<Qp> create_xrc_recv_qp(const Symbols& symbols, const Context& context, const Xrcd& xrcd) {
  constexpr char kWhat[] = "create an XRC_RECV queue pair";
  verbs_context* const table = verbs_get_ctx_op(context.get(), create_qp_ex);
  if (table == nullptr) return fail(verbs_error(kWhat, context.get(), EOPNOTSUPP));
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_XRC_RECV;
  attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  attributes.xrcd = xrcd.get();
  return made(table->create_qp_ex(context.get(), &attributes), kWhat, context.get(),
              symbols.ibv_destroy_qp, {xrcd.keep()});
}

Result<Qp> open_xrc_recv_qp(const Symbols& symbols, const Context& context, const Xrcd& xrcd,
                            std::uint32_t number) {
  ibv_qp_open_attr attributes{};
  attributes.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  attributes.qp_num = number;
  attributes.xrcd = xrcd.get();
  attributes.qp_type = IBV_QPT_XRC_RECV;
  auto opened = made(ibv_open_qp(context.get(), &attributes), "open an XRC_RECV queue pair",
                     context.get(), symbols.ibv_destroy_qp, {xrcd.keep()});
  if (!opened) opened.error().what += cat(", number ", number);
  return opened;
}

Result<Ah> create_ah(const Symbols& symbols, const Pd& pd, ibv_ah_attr attributes) {
  return made(symbols.ibv_create_ah(pd.get(), &attributes), "create an address handle", pd->context,
              symbols.ibv_destroy_ah, {pd.keep()});
}

}  // namespace scela::channel::verbs
