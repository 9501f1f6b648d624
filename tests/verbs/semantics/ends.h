// The two ends of a connection: the objects that most cases need, with all steps of connecting
// them.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/verbs/semantics/semantics_device.h"
#include "tests/verbs/semantics/semantics_handles.h"

namespace semantics {

inline constexpr size_t kBufferSize = 65536;
inline constexpr uint32_t kQkey = 0x11223344;
inline constexpr int kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

// Says how an end is made. An object that is given here is used instead of one of the end's own.
struct Plan {
  ibv_qp_type type = IBV_QPT_RC;
  uint32_t send_depth = 32;
  uint32_t recv_depth = 32;
  uint32_t sges = 4;
  uint32_t inline_bytes = 64;
  int cq_depth = 128;
  bool all_signalled = false;
  int qp_access = kAllAccess;
  // 4.096 us * 2^14 = 67 ms, seven times. That is long for a busy machine, and short for a case
  // that waits until all retries are used. Soft-RoCE would take 7 retries as retries without end.
  uint8_t timeout = 14;
  uint8_t retries = 6;
  uint8_t rnr_retries = 7;  // without end
  uint8_t rd_atomic = 4;
  ibv_pd* pd = nullptr;
  ibv_srq* srq = nullptr;
  ibv_cq* recv_cq = nullptr;
  ibv_comp_channel* channel = nullptr;  // of the receive CQ
};

// The data that one end must know of the other. It is plain bytes, so that processes can exchange
// it.
struct Address {
  uint32_t qp_num = 0;
  uint32_t psn = 0;
  uint32_t rkey = 0;
  uint32_t srq_num = 0;
  uint64_t memory = 0;
  uint16_t lid = 0;
  ibv_gid gid{};
};

// Attributes and mask of the steps INIT, RTR and RTS for any type of queue pair.
struct Step {
  ibv_qp_attr attr{};
  int mask = 0;
};
Step init_step(ibv_qp_type type, int access = kAllAccess);
Step rtr_step(ibv_qp_type type, const Address& peer, const Plan& plan = {});
Step rts_step(ibv_qp_type type, const Plan& plan = {});
int apply(ibv_qp* qp, const Step& step);
int go_to(ibv_qp* qp, ibv_qp_state state);
ibv_qp_state state_of(ibv_qp* qp);
// Waits until the queue pair is in `state`. A device may report an error before it changes the
// state.
void await_state(const std::string& what, ibv_qp* qp, ibv_qp_state state);

ibv_ah_attr route_to(const Address& peer);

class End {
 public:
  explicit End(const Plan& how = {});

  Address address() const;
  void connect(const Address& peer);

  uint8_t* bytes(size_t offset = 0) { return buffer_.data() + offset; }
  void fill(size_t offset, size_t length, uint8_t seed);
  void expect_bytes(const std::string& what, size_t offset, size_t length, uint8_t seed);
  ibv_sge piece(size_t offset, uint32_t length) const;

  // Posts one receive into the end's own queue or its SRQ. Fails the case if that does not work.
  void post_receive(uint64_t id, size_t offset = 0, uint32_t length = 1024);
  ibv_wc sent(const std::string& what = "a send's completion");
  ibv_wc received(const std::string& what = "a receive's completion");

  Plan plan;
  Pd own_pd;
  ibv_pd* pd = nullptr;

 private:
  std::vector<uint8_t> buffer_;

 public:
  Mr mr;
  Cq send_cq;
  Cq own_recv_cq;
  ibv_cq* recv_cq = nullptr;
  Qp qp;
};

// Two connected ends. Datagram ends are ready instead.
struct Pair {
  explicit Pair(const Plan& both = {}) : Pair(both, both) {}
  Pair(const Plan& first, const Plan& second);
  End a;
  End b;
};

// One send request with its pieces.
class Request {
 public:
  Request(ibv_wr_opcode opcode, uint64_t id, unsigned flags = IBV_SEND_SIGNALED);
  Request& piece(const ibv_sge& one);
  Request& immediate(uint32_t value);
  Request& remote(const Address& peer, size_t offset = 0);
  Request& atomic(const Address& peer, size_t offset, uint64_t compare_add, uint64_t swap = 0);
  Request& datagram(ibv_ah* ah, const Address& peer, uint32_t qkey = kQkey);
  Request& srq(uint32_t number);

  int try_post(ibv_qp* qp);
  void post(const End& end);

  ibv_send_wr wr{};

 private:
  std::vector<ibv_sge> pieces_;
};

// Waits until `cq` gave `count` completions.
std::vector<ibv_wc> await(ibv_cq* cq, size_t count, const std::string& what);
ibv_wc await_one(ibv_cq* cq, const std::string& what);
void expect_empty(const std::string& what, ibv_cq* cq);

// Sends a message from `from` to `to` and takes both completions. All that was posted before is
// done by then.
void exchange(End& from, End& to, uint64_t id);

// Waits until the device of `context` gave an event of this type. Other events are acknowledged and
// passed over. The caller acknowledges the event that is returned.
ibv_async_event await_event(ibv_context* context, ibv_event_type type);

Cq make_cq(int depth, ibv_comp_channel* channel = nullptr, void* user = nullptr);
Pd make_pd();
Srq make_srq(ibv_pd* pd, uint32_t depth, uint32_t limit = 0);

}  // namespace semantics
