// Queue pairs, shared receive queues and the XRC domains of these: how they are made, and how
// requests are posted to them. The table of functions of an open device uses it. Any thread may
// call, within the rules of verbs.
#pragma once

#include <cstdint>

#include "hca/library/objects/qp.h"

namespace scela::hca::library {

// The functions of context.ops and of verbs_context. Each does what the verb of that name does.
// Those that return an int return 0 or an errno. Those that return a pointer return null and set
// errno.
int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* xrcd);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);

// Fills in the function pointers of a new queue pair by which a program posts requests (ibv_qp_ex,
// extended.cpp). `operations` are bits IBV_QP_EX_WITH_*. Returns 0, or EOPNOTSUPP if this type of
// queue pair does not allow one of them.
int offer_work_requests(Qp& qp, std::uint64_t operations);

// Returns true if queue pairs of this type take requests with this opcode (IBV_WR_*). Every post
// checks this.
bool allows(QpType type, std::uint32_t opcode);
// Returns 0 if requests may be posted to the send queue now, or else the errno of the post. That is
// EIO if the engine is gone, ENOMEM or EINVAL if there is no send queue, and EINVAL in a state
// before RTS.
int check_send_state(const Qp& qp);

}  // namespace scela::hca::library
