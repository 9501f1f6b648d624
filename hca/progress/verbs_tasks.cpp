// The functions of scela/verbs_ext.h. They call a device that executes tasks by itself, or else
// this library's DeviceTasks.
#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "hca/progress/device_tasks.h"

#define SCELA_SHOWN __attribute__((visibility("default")))

namespace scela::hca::progress {
namespace {

// The DeviceTasks of each context. An entry stays after its objects have gone, because a thread may
// still be inside an operation below. A program that opens a device again gets the same address at
// most.
struct Contexts {
  std::shared_mutex mutex;
  std::map<const ibv_context*, std::shared_ptr<DeviceTasks>> entries;
  std::mutex life;  // held to make objects or clear up
};
Contexts& contexts() {
  static auto& all = *new Contexts;  // outlives every thread
  return all;
}

std::shared_ptr<DeviceTasks> tasks_for(const ibv_context* context) {
  Contexts& all = contexts();
  const std::shared_lock lock(all.mutex);
  const auto found = all.entries.find(context);
  return found == all.entries.end() ? nullptr : found->second;
}

int front_poll_cq(ibv_cq* cq, int count, ibv_wc* completions) {
  return tasks_for(cq->context)->poll_cq(cq, count, completions);
}
int front_req_notify_cq(ibv_cq* cq, int solicited_only) {
  return tasks_for(cq->context)->req_notify_cq(cq, solicited_only);
}
int front_post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  return tasks_for(qp->context)->post_send(qp, request, bad);
}
int front_post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad) {
  return tasks_for(qp->context)->post_recv(qp, request, bad);
}

// Programs read these pointers without a lock, before and after a change.
template <class Function>
void change(Function& to, Function value) {
  __atomic_store_n(&to, value, __ATOMIC_RELEASE);
}

void set_operations(ibv_context& context, const Operations& operations) {
  change(context.ops.poll_cq, operations.poll_cq);
  change(context.ops.req_notify_cq, operations.req_notify_cq);
  change(context.ops.post_send, operations.post_send);
  change(context.ops.post_recv, operations.post_recv);
}

constexpr Operations kFront{front_poll_cq, front_req_notify_cq, front_post_send, front_post_recv};

bool is_fronted(const ibv_context& context) {
  return context.ops.poll_cq == front_poll_cq;
}

// Returns the functions of the device, or null if a thread must execute its tasks.
const TaskCalls* tasks_of_device(const ibv_context& context) {
  return is_fronted(context) ? nullptr : tasks_of(context);
}

// The caller holds Contexts::life. Returns 0 or an errno.
int begin(ibv_context& context, std::shared_ptr<DeviceTasks>& tasks) {
  tasks = tasks_for(&context);
  if (is_fronted(context)) return 0;
  if (!tasks || tasks->own().poll_cq != context.ops.poll_cq) {
    VerbsCalls calls;
    if (!find_verbs(context, calls)) return ENOSYS;
    tasks = std::make_shared<DeviceTasks>(context, calls);
    const std::unique_lock lock(contexts().mutex);
    contexts().entries[&context] = tasks;
  }
  set_operations(context, kFront);
  return 0;
}

void end_if_empty(ibv_context& context, DeviceTasks& tasks) {
  const std::lock_guard life(contexts().life);
  // Another library may have replaced our operations by now. Then ours stay behind its own.
  if (tasks.close_if_empty() && is_fronted(context)) set_operations(context, tasks.own());
}

// Makes an object. Returns the object, or null with errno set. No exception leaves the library: the
// only one that can come reports that memory is exhausted.
template <class T, class Make>
T* made_by(ibv_context& context, Make make) noexcept {
  T* made = nullptr;
  int error = ENOMEM;
  std::shared_ptr<DeviceTasks> tasks;
  try {
    const std::lock_guard life(contexts().life);
    error = begin(context, tasks);
    if (error == 0) error = make(*tasks, made);
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  if (error == 0) return made;
  if (tasks) end_if_empty(context, *tasks);
  errno = error;
  return nullptr;
}

template <class Call>
int guarded(Call call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace
}  // namespace scela::hca::progress

using namespace scela::hca::progress;

extern "C" {

SCELA_SHOWN ibv_cq* scela_create_cq(ibv_context* context, int cqe, void* cq_context,
                                    ibv_comp_channel* channel, int comp_vector) {
  if (const TaskCalls* calls = tasks_of_device(*context))
    return calls->create_cq(context, cqe, cq_context, channel, comp_vector);
  if (channel != nullptr) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return made_by<ibv_cq>(*context, [&](DeviceTasks& tasks, ibv_cq*& made) {
    return tasks.create_cq(cqe, cq_context, comp_vector, made);
  });
}

SCELA_SHOWN int scela_destroy_cq(ibv_cq* cq) {
  ibv_context& context = *cq->context;
  if (const TaskCalls* calls = tasks_of_device(context)) return calls->destroy_cq(cq);
  const auto tasks = tasks_for(&context);
  if (!tasks) return EINVAL;
  const int error = guarded([&] { return tasks->destroy_cq(cq); });
  if (error == 0) end_if_empty(context, *tasks);
  return error;
}

SCELA_SHOWN ibv_qp* scela_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  if (const TaskCalls* calls = tasks_of_device(*context))
    return calls->create_qp(context, attributes);
  return made_by<ibv_qp>(*context, [&](DeviceTasks& tasks, ibv_qp*& made) {
    return tasks.create_qp(*attributes, attributes->cap, made);
  });
}

SCELA_SHOWN int scela_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int attr_mask) {
  if (const TaskCalls* calls = tasks_of_device(*qp->context))
    return calls->modify_qp(qp, attributes, attr_mask);
  const auto tasks = tasks_for(qp->context);
  return tasks ? guarded([&] { return tasks->modify_qp(qp, attributes, attr_mask); }) : EINVAL;
}

SCELA_SHOWN int scela_destroy_qp(ibv_qp* qp) {
  ibv_context& context = *qp->context;
  if (const TaskCalls* calls = tasks_of_device(context)) return calls->destroy_qp(qp);
  const auto tasks = tasks_for(&context);
  if (!tasks) return EINVAL;
  const int error = guarded([&] { return tasks->destroy_qp(qp); });
  if (error == 0) end_if_empty(context, *tasks);
  return error;
}

SCELA_SHOWN int scela_post_task(ibv_qp* qp, scela_task* task, scela_task** bad_task) {
  if (const TaskCalls* calls = tasks_of_device(*qp->context))
    return calls->post_task(qp, task, bad_task);
  const auto tasks = tasks_for(qp->context);
  if (!tasks) {
    *bad_task = task;
    return EINVAL;
  }
  return guarded([&] { return tasks->post_task(qp, task, bad_task); });
}

SCELA_SHOWN ibv_qp* scela_create_mq(ibv_pd* pd, ibv_cq* cq, std::uint32_t max_tasks) {
  if (const TaskCalls* calls = tasks_of_device(*pd->context))
    return calls->create_mq(pd, cq, max_tasks);
  return made_by<ibv_qp>(*pd->context, [&](DeviceTasks& tasks, ibv_qp*& made) {
    return tasks.create_mq(pd, cq, max_tasks, made);
  });
}

}  // extern "C"
