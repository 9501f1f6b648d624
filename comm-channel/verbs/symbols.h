// The exported functions of libibverbs that the channel calls, in one list, loaded at run time.
//
// An inline function of infiniband/verbs.h uses a context's own tables and needs no symbol, as long
// as it calls none of these. That is so for ibv_poll_cq, ibv_post_send, ibv_post_recv,
// ibv_post_srq_recv, ibv_req_notify_cq, ibv_open_xrcd, ibv_close_xrcd, ibv_open_qp,
// ibv_get_srq_num.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "common/core/result.h"
#include "hca/include/scela/hca_job.h"
#include "hca/include/scela/verbs_ext.h"

#define SCELA_VERBS_FUNCTIONS(X) \
  X(ibv_get_device_list)         \
  X(ibv_free_device_list)        \
  X(ibv_get_device_name)         \
  X(ibv_open_device)             \
  X(ibv_close_device)            \
  X(ibv_query_device)            \
  X(ibv_query_port)              \
  X(ibv_query_gid)               \
  X(ibv_alloc_pd)                \
  X(ibv_dealloc_pd)              \
  X(ibv_reg_mr)                  \
  X(ibv_dereg_mr)                \
  X(ibv_create_comp_channel)     \
  X(ibv_destroy_comp_channel)    \
  X(ibv_create_cq)               \
  X(ibv_destroy_cq)              \
  X(ibv_get_cq_event)            \
  X(ibv_ack_cq_events)           \
  X(ibv_create_srq)              \
  X(ibv_modify_srq)              \
  X(ibv_query_srq)               \
  X(ibv_destroy_srq)             \
  X(ibv_create_qp)               \
  X(ibv_modify_qp)               \
  X(ibv_query_qp)                \
  X(ibv_destroy_qp)              \
  X(ibv_create_ah)               \
  X(ibv_destroy_ah)              \
  X(ibv_get_async_event)         \
  X(ibv_ack_async_event)         \
  X(ibv_wc_status_str)           \
  X(ibv_event_type_str)

// Management queues (scela/verbs_ext.h). A library has all of these functions or none.
#define SCELA_TASK_FUNCTIONS(X) \
  X(scela_create_cq)            \
  X(scela_destroy_cq)           \
  X(scela_create_qp)            \
  X(scela_modify_qp)            \
  X(scela_destroy_qp)           \
  X(scela_post_task)            \
  X(scela_create_mq)

// These are null if the library is too old or another one.
#define SCELA_OPTIONAL_FUNCTIONS(X) \
  X(_ibv_query_gid_table)           \
  X(scela_hca_join)

namespace scela::channel::verbs {

struct TaskSymbols {
#define SCELA_POINTER(name) decltype(&::name) name = nullptr;
  SCELA_TASK_FUNCTIONS(SCELA_POINTER)
};

// If hca/library/verbs/verbs.h also has the name as a macro, call it in parentheses:
// (symbols.ibv_reg_mr)(...).
struct Symbols {
  SCELA_VERBS_FUNCTIONS(SCELA_POINTER)
  SCELA_OPTIONAL_FUNCTIONS(SCELA_POINTER)
#undef SCELA_POINTER
  std::string library;                 // the file
  bool is_adapter = false;             // libscela-ibverbs, by any name
  const TaskSymbols* tasks = nullptr;  // of this library
};

inline constexpr char kSystemLibrary[] = "libibverbs.so.1";
inline constexpr char kAdapterLibrary[] = "libscela-ibverbs.so.1";
inline constexpr char kTasksLibrary[] = "libscela-verbs-tasks.so.1";

// Loads the library for good, since it has threads and hands out pointers into itself. Returns an
// error if it is not there or lacks one of the functions. Any thread may call it.
Result<const Symbols*> load_symbols(const std::string& library);
// Loads libscela-verbs-tasks, which executes tasks for any device. Returns null if it is not there.
const TaskSymbols* load_thread_tasks();

}  // namespace scela::channel::verbs
