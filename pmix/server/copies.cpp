#include "pmix/server/copies.h"

#include <pmix_server.h>

#include <string_view>
#include <thread>

#include "common/core/text.h"
#include "pmix/server/infos.h"
#include "pmix/server/pmix_server.h"
#include "pmix/server/upcalls.h"

namespace scela::pmix {

namespace {

Copies& copies() {
  static Copies made(*served());
  return made;
}

pmix_status_t pull(const pmix_proc_t procs[], std::size_t count, const pmix_info_t directives[],
                   std::size_t directive_count, pmix_iof_channel_t channels, pmix_op_cbfunc_t,
                   void*) {
  // The upcall always answers at once and with success: libpmix 4.2 frees the memory that a later
  // answer would need, and keeps a refused request.
  for (std::size_t i = 0; i < directive_count; ++i) {
    if (!is_key(directives[i], PMIX_IOF_STOP)) continue;
    copies().stop_one();
    return PMIX_OPERATION_SUCCEEDED;
  }
  copies().pull({served()->ranks_of(procs, count), (channels & PMIX_FWD_STDOUT_CHANNEL) != 0,
                 (channels & PMIX_FWD_STDERR_CHANNEL) != 0});
  return PMIX_OPERATION_SUCCEEDED;
}

// Handles a lost connection. One event may report several lost processes.
void gone(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t infos[], std::size_t count,
          pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t then, void* data) {
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_value_t& value = infos[i].value;
    if (is_key(infos[i], PMIX_EVENT_AFFECTED_PROC) && value.type == PMIX_PROC &&
        value.data.proc != nullptr) {
      copies().tool_left(*value.data.proc);
    }
    if (!is_key(infos[i], PMIX_EVENT_AFFECTED_PROCS) || value.type != PMIX_DATA_ARRAY ||
        value.data.darray == nullptr || value.data.darray->type != PMIX_PROC ||
        value.data.darray->array == nullptr) {
      continue;
    }
    const auto* procs = static_cast<const pmix_proc_t*>(value.data.darray->array);
    for (std::size_t at = 0; at < value.data.darray->size; ++at)
      copies().tool_left(procs[at]);
  }
  then(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

}  // namespace

void Copies::tool_came(const pmix_proc_t& proc) {
  const std::lock_guard guard(lock_);
  tools_.emplace(proc.nspace, proc.rank);
}

void Copies::tool_left(const pmix_proc_t& proc) {
  const std::lock_guard guard(lock_);
  if (tools_.erase({proc.nspace, proc.rank}) > 0 && tools_.empty()) stop();
}

void Copies::pull(msg::Pull what) {
  if (what.ranks.empty()) return;
  const std::lock_guard guard(lock_);
  ++pulls_;
  // The thread is never joined, since this object is static.
  if (!std::exchange(running_, true)) std::thread([this] { run(); }).detach();
  server_.link().post(what);
}

void Copies::stop_one() {
  const std::lock_guard guard(lock_);
  if (pulls_ > 0 && --pulls_ == 0) stop();
}

void Copies::stop() {
  pulls_ = 0;
  waiting_.clear();
  server_.link().post(msg::PullNoMore{});
}

void Copies::pass(msg::Copy copy) {
  const std::lock_guard guard(lock_);
  if (pulls_ == 0) return;
  waiting_.push_back(std::move(copy));
  more_.notify_one();
}

void Copies::run() {
  while (true) {
    wait_for_readers();
    msg::Copy copy;
    {
      std::unique_lock guard(lock_);
      more_.wait(guard, [&] { return !waiting_.empty(); });
      copy = std::move(waiting_.front());
      waiting_.pop_front();
    }
    deliver(copy);
    server_.link().post(msg::Taken{copy.rank, copy.bytes.size()});
  }
}

void Copies::deliver(const msg::Copy& copy) const {
  const pmix_proc_t source = server_.process(copy.rank);
  const pmix_iof_channel_t channel = copy.error ? PMIX_FWD_STDERR_CHANNEL : PMIX_FWD_STDOUT_CHANNEL;
  const auto hand = [&](std::string text) {
    const pmix_byte_object_t bytes{text.data(), text.size()};
    static_cast<void>(
        PMIx_server_IOF_deliver(&source, channel, &bytes, nullptr, 0, nullptr, nullptr));
  };
  if (copy.left_out > 0)
    hand(
        cat("\n[scela: ", copy.left_out, " bytes are left out here: they were read too slowly]\n"));
  if (!copy.bytes.empty()) hand(copy.bytes);
}

void pass_copy(msg::Copy copy) {
  copies().pass(std::move(copy));
}

void tool_came(const pmix_proc_t& proc) {
  copies().tool_came(proc);
}

void add_copies(pmix_server_module_t& table) {
  table.iof_pull = pull;
}

void watch_tools() {
  pmix_status_t code = PMIX_ERR_LOST_CONNECTION;
  static_cast<void>(PMIx_Register_event_handler(&code, 1, nullptr, 0, gone, nullptr, nullptr));
}

}  // namespace scela::pmix
