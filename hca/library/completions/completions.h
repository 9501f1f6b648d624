// Completion queues: how they are made, and how completions are taken from them. The queues of
// requests and the table of functions of an open device use it. Any thread may call, within the
// rules of verbs. If polls find nothing many times, the next one sleeps for at most 250
// microseconds.
#pragma once

#include <cstdint>

#include "hca/library/objects/cq.h"
#include "hca/library/objects/qp.h"

namespace scela::hca::library {

// The functions of context.ops and of verbs_context. Each does what the verb of that name does.
// Those that return an int return 0 or an errno, but poll_cq() returns how many completions it has
// written, or -1 and sets errno. create_cq_ex() returns null and sets errno if it fails.
int poll_cq(ibv_cq* cq, int count, ibv_wc* completions);
int req_notify_cq(ibv_cq* cq, int solicited_only);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes);

// Fills in the function pointers of a new completion queue, by which a program polls it
// (ibv_cq_ex). `fields` are bits IBV_WC_EX_WITH_*: the fields that the program will read.
void offer_polling(Cq& cq, std::uint64_t fields);

// Copies the next completion to `completion`, and frees the slots of its request in the queue of
// requests. Returns false if there is none. The caller holds the CQ's lock.
bool take_next(Cq& cq, Completion& completion);
// Tells the engine how many completions take_next() has taken since Cq::taken had the value `from`:
// their entries are free. The caller holds the CQ's lock.
void give_back(Cq& cq, std::uint64_t from);
// Drops the completions of `qp` that are in `cq`, because it is reset or destroyed. `cq` may be
// null.
void forget_in(ibv_cq* cq, const Qp& qp);
// Called once the engine has gone (flush.cpp). Makes at most `count` completions with the status
// IBV_WC_WR_FLUSH_ERR, one for each request that was posted and not completed. Returns how many it
// has written, or -1 if there are none left. The caller holds the CQ's lock.
int flush(Cq& cq, int count, ibv_wc* completions);

}  // namespace scela::hca::library
