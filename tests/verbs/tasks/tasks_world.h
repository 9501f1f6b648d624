// The objects of the cases of tasks: queue pairs that take tasks. They are made by
// scela/verbs_ext.h alone, so neither they nor the cases know if the device or a thread executes
// the tasks.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "hca/include/scela/verbs_ext.h"
#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {

// The objects of one case. They are destroyed with it, the youngest first.
class World {
 public:
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  ibv_cq* cq(int depth = 64);
  // Makes a reliable connection. `flags` are of enum scela_qp_create_flags.
  ibv_qp* rc(ibv_cq* send, ibv_cq* receive, uint32_t flags = 0, uint32_t depth = 64);
  ibv_qp* mq(ibv_cq* cq, uint32_t tasks = 64);
  // Connects both directions.
  void connect(ibv_qp* a, ibv_qp* b) const;
  void connect_one(ibv_qp* qp, uint32_t number) const;

  // Registered bytes, zero at first; `at` counts from the start of the memory of this world.
  uint8_t* memory(size_t at = 0) { return memory_.data() + at; }
  ibv_sge piece(size_t at, uint32_t length) const;
  Address address() const;

  Pd pd;

 private:
  std::vector<uint8_t> memory_;
  Mr mr_;
  std::vector<ibv_cq*> cqs_;
  std::vector<ibv_qp*> qps_;
};

inline constexpr size_t kWorldBytes = 8 << 20;

// Makes one queue pair with the attributes that it needs. Returns null and sets errno if that
// fails.
ibv_qp* make_rc(ibv_pd* pd, ibv_cq* send, ibv_cq* receive, uint32_t flags, uint32_t depth);
int change_state(ibv_qp* qp, ibv_qp_state state);

void post_receive(ibv_qp* qp, uint64_t id, ibv_sge piece = {});
void post_send(ibv_qp* qp, uint64_t id, ibv_sge piece = {}, unsigned flags = 0);
// Posts an RDMA write into the memory of the same world.
void post_write(const World& world, ibv_qp* qp, uint64_t id, ibv_sge from, size_t to,
                unsigned flags = 0);

scela_task wait(ibv_cq* cq, uint32_t count, bool last = true, uint64_t id = 0, unsigned flags = 0);
scela_task enable(ibv_qp* qp, uint32_t count, uint64_t id = 0, unsigned flags = 0,
                  scela_task_opcode opcode = SCELA_TASK_SEND_ENABLE);
scela_task calc(scela_calc_op op, scela_calc_type type, std::span<ibv_sge> pieces, uint64_t id = 0);
void post(ibv_qp* qp, scela_task task);
int try_post(ibv_qp* qp, scela_task task);

// Takes the next completion, which must be this one.
void expect_next(const std::string& what, ibv_cq* cq, uint64_t id,
                 ibv_wc_status status = IBV_WC_SUCCESS);
void expect_task(const std::string& what, ibv_cq* cq, uint64_t id, scela_task_opcode opcode);

// Waits until the byte is `value`, without a look at any completion queue.
void await_byte(const std::string& what, const uint8_t* byte, uint8_t value);

std::span<const Case> order_cases();
std::span<const Case> counting_cases();
std::span<const Case> calc_cases();
std::span<const Case> failure_cases();
std::span<const Case> chain_cases();

}  // namespace semantics
