// The ends of extended reliable connections: a sender, and a target queue pair with numbered
// receive queues.
#pragma once

#include "tests/verbs/semantics/ends.h"

namespace semantics {

// If `fd` is -1, the domain is new and has no name.
Xrcd open_domain(ibv_context* context, int fd, int oflags);
int open_domain_error(ibv_context* context, int fd, int oflags);

// A numbered receive queue with its own completion queue and memory.
class XrcQueue {
 public:
  XrcQueue(ibv_context* context, ibv_xrcd* domain, uint32_t depth = 16);
  void post(uint64_t id, size_t offset = 0, uint32_t length = 1024);
  ibv_wc received() { return await_one(cq.get(), "a receive of the XRC queue"); }
  const uint8_t* bytes(size_t offset = 0) const { return memory_.data() + offset; }
  // Returns the target's address with the number and the memory of this queue.
  Address address(const Address& target) const;
  uint32_t number = 0;
  Pd pd;
  Cq cq;

 private:
  std::vector<uint8_t> memory_;

 public:
  Mr mr;
  Srq srq;
};

Qp make_target(ibv_context* context, ibv_xrcd* domain);
void connect_target(ibv_qp* target, const Address& sender);
Address address_of(const ibv_qp* target);

}  // namespace semantics
