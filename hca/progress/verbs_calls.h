// The functions of libibverbs that tasks need, from the library that serves a context. They are
// found through the shared object that holds the context's operations, so programs may load
// libibverbs as they like. Any thread may call.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "hca/include/scela/verbs_ext.h"

namespace scela::hca::progress {

// Functions of libibverbs, under their names without "ibv_".
struct VerbsCalls {
  decltype(&ibv_create_comp_channel) create_comp_channel = nullptr;
  decltype(&ibv_destroy_comp_channel) destroy_comp_channel = nullptr;
  decltype(&ibv_get_cq_event) get_cq_event = nullptr;
  decltype(&ibv_ack_cq_events) ack_cq_events = nullptr;
  decltype(&ibv_create_cq) create_cq = nullptr;
  decltype(&ibv_destroy_cq) destroy_cq = nullptr;
  ibv_qp* (*create_qp)(ibv_pd* pd, ibv_qp_init_attr* attributes) = nullptr;
  decltype(&ibv_modify_qp) modify_qp = nullptr;
  decltype(&ibv_destroy_qp) destroy_qp = nullptr;
};

// The operations of a context (ibv_context_ops) that DeviceTasks replaces.
struct Operations {
  decltype(ibv_context_ops::poll_cq) poll_cq = nullptr;
  decltype(ibv_context_ops::req_notify_cq) req_notify_cq = nullptr;
  decltype(ibv_context_ops::post_send) post_send = nullptr;
  decltype(ibv_context_ops::post_recv) post_recv = nullptr;
};

// The functions of hca/include/scela/verbs_ext.h, from a library with a device that executes tasks.
struct TaskCalls {
  decltype(&scela_create_cq) create_cq = nullptr;
  decltype(&scela_destroy_cq) destroy_cq = nullptr;
  decltype(&scela_create_qp) create_qp = nullptr;
  decltype(&scela_modify_qp) modify_qp = nullptr;
  decltype(&scela_destroy_qp) destroy_qp = nullptr;
  decltype(&scela_post_task) post_task = nullptr;
  decltype(&scela_create_mq) create_mq = nullptr;
};

// Fills in `calls` for this context. Returns false if a function was not found.
bool find_verbs(const ibv_context& context, VerbsCalls& calls);
// Returns the task functions of the library that serves the context, valid until the process ends.
// Returns null if its device executes no tasks, or if SCELA_TASKS=thread says not to use it.
// `context` must still have the operations that it was opened with.
const TaskCalls* tasks_of(const ibv_context& context);

}  // namespace scela::hca::progress
