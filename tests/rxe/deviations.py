"""Where the kernel's soft-RoCE (Debian's 6.1, with the provider of rdma-core 44) is known to differ from what
verbs-semantics asks for, and why: read in the driver (drivers/infiniband/sw/rxe) and the provider
(providers/rxe). A case that is not named here must pass.
"""

_KEY = ("a key that names no usable region ends in IBV_WC_LOC_QP_OP_ERR: the driver tells only a bad range "
        "(EFAULT) from all other faults")
_PLACES = ("a place in the send queue is free as soon as the driver has done the work, whether or not a completion "
           "was polled")
_LENGTH = ("copy_data says EINVAL where more arrives than the receive holds, which is taken for a malformed "
           "receive: IBV_WC_LOC_QP_OP_ERR there and IBV_WC_REM_OP_ERR at the sender")
_EVENT = "the driver never raises this event"

FAILS = {
    "query.current-state": "cur_qp_state is answered only as it was last set by IBV_QP_CUR_STATE",
    "states.bad-pkey": "any index of a partition key is taken; there is one key, and nobody looks at the index",
    "states.too-many-reads-in": "max_dest_rd_atomic is not compared with the device's limit, max_rd_atomic is",
    "accounting.unpolled-holds": _PLACES,
    "accounting.unsignalled-holds": _PLACES,
    "accounting.middle-frees": _PLACES,
    "protection.bad-lkey": _KEY,
    "protection.own-region-gone": _KEY,
    "protection.lkey-of-other-domain": _KEY,
    "protection.receive-bad-lkey": _KEY,
    "protection.receive-into-readonly": _KEY,
    "errors.receive-too-small": _LENGTH,
    "errors.receive-too-small-long": _LENGTH,
    "extended.pieces": "the provider adds up the length of the first piece as often as there are pieces",
    "extended.inline-pieces": "the provider adds up no length at all",
    "extended.too-many": "the provider looks at no fullness of the queue between ibv_wr_start and ibv_wr_complete",
    "extended.poll": "ibv_next_poll at the end of the queue has already given the completions back, and "
                     "ibv_end_poll gives back one more",
}

# These fail because something never comes: they get a short deadline.
NEVER_COMES = {
    "states.drained": "what was posted in SQD is looked at only with the next post after it",
    "posting.receive-in-error": "the provider writes receives into shared memory and tells the driver nothing, "
                                "which flushes only what is there on the way to ERR",
    "datagrams.own-qkey": "a Q_Key with its highest bit set is sent as it is",
    "errors.access-event": _EVENT,
    "errors.established-event": _EVENT,
    "srq.last-receive-event": _EVENT,
    "extended.inline": "the provider leaves IBV_SEND_INLINE to the caller's wr_flags, so the driver looks for pieces",
}
