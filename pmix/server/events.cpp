// Events between the servers of a job. An event of a process on this node goes to the servers of
// all nodes that it is for. Each server passes it to the processes of its node that have registered
// for it. An event from another server is passed on under the name of its source. libpmix asks its
// host to spread only events of the server itself, so such an event does not return.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "pmix/server/held_ranks.h"
#include "pmix/server/infos.h"
#include "pmix/server/packed.h"
#include "pmix/server/pmix_server.h"
#include "pmix/server/upcalls.h"

namespace scela::pmix {

namespace {

// If at most this number of ranks fail at once, each is an event of its own. More ranks are one
// event.
constexpr std::size_t kMaxSingleEvents = 64;

// Returns true if the event is for this node only: other nodes have only ranks of this job.
bool stays_here(pmix_data_range_t range) {
  return range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL || range == PMIX_RANGE_RM;
}

// The ranks that an event of a custom range names. An event without such names is for all ranks.
struct Targets {
  bool named = false;
  RankSet ranks;
};

void add_target(Targets& targets, const pmix_proc_t& proc) {
  targets.named = true;
  targets.ranks.add(served()->ranks_of(&proc, 1));
}

Targets targets_of(const pmix_info_t* infos, std::size_t count) {
  Targets out;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_key(infos[i], PMIX_EVENT_CUSTOM_RANGE)) continue;
    const pmix_value_t& value = infos[i].value;
    if (value.type == PMIX_PROC && value.data.proc != nullptr) add_target(out, *value.data.proc);
    if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr ||
        value.data.darray->type != PMIX_PROC) {
      continue;
    }
    const auto* procs = static_cast<const pmix_proc_t*>(value.data.darray->array);
    for (std::size_t at = 0; at < value.data.darray->size; ++at)
      add_target(out, procs[at]);
  }
  return out;
}

// libpmix and the handlers of programs use these two attributes without a check of their type, so
// the server checks it.
bool is_sound(const pmix_info_t& info) {
  const pmix_value_t& value = info.value;
  if (is_key(info, PMIX_EVENT_AFFECTED_PROC)) {
    return value.type == PMIX_PROC && value.data.proc != nullptr;
  }
  if (!is_key(info, PMIX_EVENT_AFFECTED_PROCS)) return true;
  const pmix_data_array_t* array = value.type == PMIX_DATA_ARRAY ? value.data.darray : nullptr;
  return array != nullptr && array->type == PMIX_PROC &&
         (array->size == 0 || array->array != nullptr);
}

// Returns true if an event may go to other nodes or come from them. A lost connection concerns only
// its own server, since it may be the connection of a tool (copies.cpp).
bool may_travel(pmix_status_t code, const pmix_info_t* infos, std::size_t count) {
  return code != PMIX_ERR_LOST_CONNECTION && std::all_of(infos, infos + count, is_sound);
}

pmix_status_t register_events(pmix_status_t*, size_t, const pmix_info_t*, size_t, pmix_op_cbfunc_t,
                              void*) {
  return PMIX_OPERATION_SUCCEEDED;  // every server gets every event
}

pmix_status_t deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t notify_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                           pmix_info_t infos[], size_t count, pmix_op_cbfunc_t, void*) {
  if (stays_here(range) || !may_travel(code, infos, count)) return PMIX_OPERATION_SUCCEEDED;
  Targets targets = targets_of(infos, count);
  if (targets.named && targets.ranks.empty()) return PMIX_OPERATION_SUCCEEDED;
  if (targets.named && code == PMIX_DEBUGGER_RELEASE) hear_release(targets.ranks);
  Packed packed;
  packed.put(&code, 1, PMIX_STATUS);
  packed.put(source, 1, PMIX_PROC);
  packed.put(&range, 1, PMIX_DATA_RANGE);
  packed.put(&count, 1, PMIX_SIZE);
  if (count > 0) packed.put(infos, static_cast<std::int32_t>(count), PMIX_INFO);
  if (!packed.ok()) return PMIX_ERR_PACK_FAILURE;
  std::string bytes = packed.bytes();
  if (bytes.size() > kMaxSaid) return PMIX_OPERATION_SUCCEEDED;
  served()->link().post(msg::Notify{std::move(targets.ranks), std::move(bytes)});
  return PMIX_OPERATION_SUCCEEDED;
}

void tell_failed(const std::vector<pmix_proc_t>& failed) {
  Infos infos;
  if (failed.size() == 1) {
    infos.add_process(PMIX_EVENT_AFFECTED_PROC, failed.front());
  } else {
    std::vector<pmix_proc_t> copy = failed;
    pmix_data_array_t array{PMIX_PROC, copy.size(), copy.data()};
    infos.add_array(PMIX_EVENT_AFFECTED_PROCS, array);
  }
  // Default handlers, such as Open MPI's, end their process at any event, so they must not get this
  // one.
  infos.add(PMIX_EVENT_NON_DEFAULT, true);
  tell_event(PMIX_ERR_PROC_ABORTED, failed.front(), PMIX_RANGE_LOCAL, infos.data(), infos.size());
}

}  // namespace

void tell_event(pmix_status_t code, const pmix_proc_t& source, pmix_data_range_t range,
                const pmix_info_t* infos, std::size_t count) {
  static_cast<void>(PMIx_Notify_event(code, &source, range, infos, count, nullptr, nullptr));
}

void add_events(pmix_server_module_t& table) {
  table.register_events = register_events;
  table.deregister_events = deregister_events;
  table.notify_event = notify_event;
}

void deliver(const Server&, const msg::Event& event) {
  Packed packed(event.blob);
  pmix_status_t code = PMIX_SUCCESS;
  pmix_proc_t source{};
  pmix_data_range_t range = PMIX_RANGE_UNDEF;
  std::size_t count = 0;
  packed.get(&code, 1, PMIX_STATUS);
  packed.get(&source, 1, PMIX_PROC);
  packed.get(&range, 1, PMIX_DATA_RANGE);
  packed.get(&count, 1, PMIX_SIZE);
  if (!packed.ok() || count > packed.left()) return;  // each takes at least a byte
  pmix_info_t* infos = nullptr;
  if (count > 0) {
    PMIX_INFO_CREATE(infos, count);
    packed.get(infos, static_cast<std::int32_t>(count), PMIX_INFO);
  }
  if (packed.ok() && may_travel(code, infos, count)) {
    const Targets targets = targets_of(infos, count);
    if (targets.named && code == PMIX_DEBUGGER_RELEASE) hear_release(targets.ranks);
    tell_event(code, source, range, infos, count);
  }
  if (infos != nullptr) PMIX_INFO_FREE(infos, count);
}

void deliver(const Server& server, const msg::RanksFailed& failed) {
  std::vector<pmix_proc_t> all;
  failed.ranks.for_each([&](Rank rank) { all.push_back(server.process(rank)); });
  if (all.empty()) return;
  if (all.size() > kMaxSingleEvents) return tell_failed(all);
  for (const pmix_proc_t& one : all)
    tell_failed({one});
}

}  // namespace scela::pmix
