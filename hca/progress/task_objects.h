// The TaskObjects are the completion queues and queue pairs that a DeviceTasks has made, and their
// numbers. A program's threads find an object by its verbs object, and the others by its number.
//
// They are protected by two locks: the TaskLock, and one of their own. Functions that change the
// tables need the TaskLock, and take the other one besides. So either lock is enough to read: the
// functions with a verbs object need no lock, and the others need the TaskLock.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "hca/progress/core/task_queues.h"

namespace scela::hca::progress {

// A completion queue. The TaskLock protects it.
struct TaskCq {
  ibv_cq* device = nullptr;  // the device's object
  CountId id = 0;            // its number in TaskQueues
  // Completions for the program, oldest first. If there are more than `capacity`, the queue
  // overruns.
  std::deque<ibv_wc> ready;
  std::size_t capacity = 0;
  // The entries of the device's queue beyond `capacity`, for completions that the program did not
  // ask for.
  int spare = 0;
  // Unsignalled requests of the program that the device has, which complete there nevertheless.
  int unsignalled = 0;
  bool broken = false;  // it overran; nothing more comes
  // A queue pair waits for its completions, so the thread polls it.
  bool watched = false;
  // The device will send an event for its next completion.
  bool armed = false;
  // It is being destroyed, and is not polled any more.
  bool leaving = false;
};

// A queue pair. The TaskLock protects it.
struct TaskQp {
  ibv_qp* device = nullptr;  // the device's object
  PairId id = 0;             // its number in TaskQueues
  TaskCq* send_cq = nullptr;
  TaskCq* recv_cq = nullptr;
  ibv_qp_cap cap{};
  // It was made with sq_sig_all.
  bool all_signalled = false;
  // It is a management queue, which takes tasks only.
  bool manages_only = false;
  // Its part of TaskCq::unasked.
  int unsignalled = 0;
};

// The tables of these objects, which own them.
class TaskObjects {
 public:
  // Return the object by the verbs object that the program holds, or null if it is not in the
  // tables.
  TaskCq* find(const ibv_cq* cq) const;
  TaskQp* find(const ibv_qp* qp) const;
  // Return whether there are any completion queues, or queue pairs.
  bool has_cqs() const;
  bool has_qps() const;

  // These need the TaskLock. The object's `id` must be set. References to it stay valid until it is
  // removed. remove() destroys a completion queue, and returns a queue pair.
  void add(std::unique_ptr<TaskCq> cq);
  void add(std::unique_ptr<TaskQp> qp);
  void remove(const TaskCq& cq);
  std::unique_ptr<TaskQp> remove(const TaskQp& qp);
  // Return the object with this number, which must exist.
  TaskCq& cq(CountId id) const { return *cqs_by_id_.at(id); }
  TaskQp& qp(PairId id) const { return *qps_by_id_.at(id); }
  // Return the completion queue with this number, or the queue pair with this QP number; null if
  // there is none.
  TaskCq* find_cq(CountId id) const;
  TaskQp* find_qp_numbered(std::uint32_t number) const;
  // Clears TaskCq::armed of all completion queues.
  void clear_armed();

 private:
  mutable std::shared_mutex table_;  // protects the tables
  std::unordered_map<const ibv_cq*, std::unique_ptr<TaskCq>> cqs_;
  std::unordered_map<const ibv_qp*, std::unique_ptr<TaskQp>> qps_;
  std::unordered_map<CountId, TaskCq*> cqs_by_id_;
  std::unordered_map<PairId, TaskQp*> qps_by_id_;
  std::unordered_map<std::uint32_t, TaskQp*> qps_by_number_;
};

}  // namespace scela::hca::progress
