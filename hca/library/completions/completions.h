// Completion queues: how they are made, and how completions are taken from them. The queues of
// requests and the table of an open device use it. Any thread may call, within the rules of verbs.
#pragma once

#include <cstdint>

#include "hca/library/objects/cq.h"
#include "hca/library/objects/qp.h"

namespace scela::hca::library {

// The functions of context.ops and of verbs_context. Each does what the verb of that name does.
// Those that return an int return 0 or an errno, but poll_cq() returns a count, or -1 and sets
// errno. create_cq_ex() returns null and sets errno if it fails.
int poll_cq(ibv_cq* cq, int count, ibv_wc* completions);
int req_notify_cq(ibv_cq* cq, int solicited_only);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes);

// Fills in the extended interface of a new completion queue (poll_extended.cpp). `fields` are bits
// IBV_WC_EX_WITH_*.
void offer_polling(Cq& cq, std::uint64_t fields);

// Takes the next completion, and gives the slots of its request back to its queue. Returns false if
// there is none. The caller holds the CQ's lock.
bool take_next(Cq& cq, Completion& completion);
// Tells the engine how many completions take_next() has taken since `from`, a value of Cq::taken.
void give_back(Cq& cq, std::uint64_t from);
// Drops the completions of `qp` in `cq`, which may be null.
void forget_in(ibv_cq* cq, const Qp& qp);
// Makes the completions that an engine which is gone will not send (flush.cpp). Returns how many,
// or -1 if all were handed out. The caller holds the CQ's lock.
int flush(Cq& cq, int count, ibv_wc* completions);

}  // namespace scela::hca::library
