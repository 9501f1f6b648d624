// The functions that libpmix calls in its host. libpmix calls from threads of its own, which must
// not block. Each function queues a question to the agent and returns. The main thread calls
// libpmix back with the answer.
//
// If a function is not in the table, libpmix answers by itself, if need be by
// PMIX_ERR_NOT_SUPPORTED. Without connect and disconnect it would let callers wait for ever. All
// arguments belong to libpmix, except the bytes of a fence, which the host frees. Queries and tools
// are in observe_upcalls.cpp, events in events.cpp, the control of ranks in control_upcalls.cpp.
#include <pmix.h>
#include <pmix_server.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pmix/server/infos.h"
#include "pmix/server/packed.h"
#include "pmix/server/pmix_server.h"
#include "pmix/server/upcalls.h"

namespace scela::pmix {

namespace {

Server* the_server = nullptr;

}  // namespace

Server* served() {
  return the_server;
}

pmix_status_t status_of(Status status) {
  switch (status) {
    case Status::ok:
      return PMIX_SUCCESS;
    case Status::failed:
      return PMIX_ERROR;
    case Status::not_found:
      return PMIX_ERR_NOT_FOUND;
    case Status::exists:
      return PMIX_ERR_DUPLICATE_KEY;
    case Status::not_supported:
      return PMIX_ERR_NOT_SUPPORTED;
    case Status::too_large:
      return PMIX_ERR_OUT_OF_RESOURCE;
    case Status::not_spawned:
      return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    case Status::timed_out:
      return PMIX_ERR_TIMEOUT;
  }
  return PMIX_ERROR;
}

// Deregistering a process that does not exist does nothing except call `run` in that thread.
void in_libpmix(std::function<void()> call) {
  using Call = std::function<void()>;
  auto kept = std::make_unique<Call>(std::move(call));
  const auto run = [](pmix_status_t, void* data) {
    const std::unique_ptr<Call> one(static_cast<Call*>(data));
    (*one)();
  };
  const pmix_proc_t nobody{};
  PMIx_server_deregister_client(&nobody, run, kept.release());
}

namespace {

// The trackers of libpmix that wait for data. libpmix may ask twice for one tracker, and breaks if
// it is answered twice.
class Awaited {
 public:
  // Returns false if the tracker is awaited already.
  bool add(void* tracker) {
    const std::lock_guard guard(lock_);
    return trackers_.insert(tracker).second;
  }
  void remove(void* tracker) {
    const std::lock_guard guard(lock_);
    trackers_.erase(tracker);
  }

 private:
  std::mutex lock_;
  std::set<void*> trackers_;
};
Awaited awaited;

AgentLink::OnAnswer done(pmix_op_cbfunc_t call, void* data) {
  return [call, data](Status status, const std::string&) {
    if (call != nullptr) call(status_of(status), data);
  };
}

void free_blob(void* blob) {
  delete static_cast<std::string*>(blob);
}

// Returns an answer function that keeps the bytes until libpmix has taken them.
AgentLink::OnAnswer with_blob(pmix_modex_cbfunc_t call, void* data) {
  return [call, data](Status status, std::string blob) {
    if (status != Status::ok) return call(status_of(status), nullptr, 0, data, nullptr, nullptr);
    auto kept = std::make_unique<std::string>(std::move(blob));
    const std::string& bytes = *kept;
    call(PMIX_SUCCESS, bytes.data(), bytes.size(), data, free_blob, kept.release());
  };
}

// The next functions report the start and end of processes.

pmix_status_t connected(const pmix_proc_t* proc, void*, pmix_info_t*, size_t, pmix_op_cbfunc_t,
                        void*) {
  const auto rank = served()->rank_of(*proc);
  if (rank) served()->link().post(msg::Connected{*rank});
  return PMIX_OPERATION_SUCCEEDED;  // libpmix 4.2 passes no callback
}

pmix_status_t finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t call, void* data) {
  const auto rank = served()->rank_of(*proc);
  if (!rank) return PMIX_OPERATION_SUCCEEDED;  // the process is a tool
  // The agent answers this, so that it knows of the call before the process can end.
  served()->link().ask(msg::Finalized{0, *rank}, done(call, data));
  return PMIX_SUCCESS;
}

pmix_status_t abort_job(const pmix_proc_t* proc, void*, int status, const char* message,
                        pmix_proc_t*, size_t, pmix_op_cbfunc_t call, void* data) {
  const auto rank = served()->rank_of(*proc);
  if (!rank) return PMIX_ERR_NOT_SUPPORTED;
  const std::string text = message == nullptr ? "" : message;
  served()->link().ask(msg::Abort{0, *rank, status, text}, done(call, data));
  return PMIX_SUCCESS;
}

// The next functions exchange data between processes.

// libpmix calls this when all of a node's processes have come. Until then libpmix itself watches
// the time limit, and forgets a fence that takes too long. The host cannot mend that
// (docs/design/pmix.md).
pmix_status_t fence(const pmix_proc_t* procs, size_t count, const pmix_info_t* infos,
                    size_t info_count, char* bytes, size_t size, pmix_modex_cbfunc_t call,
                    void* data) {
  msg::Fence question;
  question.ranks = served()->ranks_of(procs, count);
  if (bytes != nullptr) question.blob.assign(bytes, size);
  std::free(bytes);
  if (question.ranks.empty()) return PMIX_ERR_NOT_SUPPORTED;
  served()->link().ask(std::move(question), with_blob(call, data), timeout_of(infos, info_count));
  return PMIX_SUCCESS;
}

// Returns the key that the asker waits for, or an empty string. Keys of the standard are not waited
// for, because they are there from the beginning or never.
std::string required_key(const pmix_info_t* infos, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const pmix_value_t& value = infos[i].value;
    if (!is_key(infos[i], PMIX_REQUIRED_KEY) || value.type != PMIX_STRING) continue;
    const std::string key = value.data.string == nullptr ? "" : value.data.string;
    return key.starts_with("pmix") || key.size() > PMIX_MAX_KEYLEN ? std::string() : key;
  }
  return {};
}

pmix_status_t direct_modex(const pmix_proc_t* proc, const pmix_info_t* infos, size_t count,
                           pmix_modex_cbfunc_t call, void* data) {
  // libpmix asks again once it knows the namespace, or answers by itself for a rank of this node.
  if (served()->is_coming(*proc)) return PMIX_SUCCESS;
  const auto rank = served()->rank_of(*proc);
  if (!rank) return PMIX_ERR_NOT_FOUND;
  if (!awaited.add(data)) return PMIX_SUCCESS;
  served()->link().ask(
      msg::DataWanted{0, *rank, required_key(infos, count)},
      [data, answer = with_blob(call, data)](Status status, std::string blob) {
        awaited.remove(data);
        answer(status, std::move(blob));
      },
      timeout_of(infos, count), AgentLink::Overdue::given_up);
  return PMIX_SUCCESS;
}

// Connect and disconnect are fences without data: a process is connected when its fence ends.
pmix_status_t connect(const pmix_proc_t* procs, size_t count, const pmix_info_t* infos,
                      size_t info_count, pmix_op_cbfunc_t call, void* data) {
  const RankSet ranks = served()->ranks_of(procs, count);
  if (ranks.empty()) return PMIX_ERR_NOT_SUPPORTED;
  const Deadline deadline(timeout_of(infos, info_count));
  served()->link().ask(
      msg::Fence{0, ranks, {}, {}},
      [call, data, deadline](Status status, const std::string&) {
        deadline.answer([call, data, status] { call(status_of(status), data); });
      },
      deadline.limit());
  return PMIX_SUCCESS;
}

pmix_status_t disconnect(const pmix_proc_t* procs, size_t count, const pmix_info_t* infos,
                         size_t info_count, pmix_op_cbfunc_t call, void* data) {
  const RankSet ranks = served()->ranks_of(procs, count);
  if (ranks.empty()) return PMIX_ERR_NOT_SUPPORTED;
  served()->link().ask(msg::Fence{0, ranks, {}, {}}, done(call, data),
                       timeout_of(infos, info_count));
  return PMIX_SUCCESS;
}

// The next functions publish and look up names. One call may hold several names, each of which is a
// question of its own. All answers come to the main thread, and the last one ends the call. A
// published value is packed together with its publisher.

std::string pack(const pmix_proc_t& owner, const pmix_value_t& value) {
  Packed packed;
  packed.put(&owner, 1, PMIX_PROC);
  packed.put(&value, 1, PMIX_VALUE);
  return packed.ok() ? packed.bytes() : std::string();
}

bool unpack(const std::string& bytes, pmix_pdata_t& found) {
  Packed packed(bytes);
  packed.get(&found.proc, 1, PMIX_PROC);
  packed.get(&found.value, 1, PMIX_VALUE);
  return packed.ok();
}

struct NameCall {
  std::size_t open = 0;  // unanswered questions
  Status worst = Status::ok;
  pmix_op_cbfunc_t call = nullptr;
  pmix_lookup_cbfunc_t found = nullptr;
  void* data = nullptr;
  std::vector<std::pair<std::string, std::string>> values;  // name, packed value
};
using SharedCall = std::shared_ptr<NameCall>;

void give(const NameCall& call) {
  pmix_pdata_t* list = nullptr;
  std::size_t count = 0;
  PMIX_PDATA_CREATE(list, call.values.size());
  for (const auto& [name, bytes] : call.values) {
    name.copy(list[count].key, PMIX_MAX_KEYLEN);
    if (unpack(bytes, list[count])) ++count;
  }
  // libpmix 4.2 passes values to its client only with a success, not with a partial success. With
  // the latter the found values would be lost, for good if they stay for one look-up only. Values
  // that were not found stay undefined.
  pmix_status_t status = PMIX_SUCCESS;
  if (count == 0) status = call.worst == Status::ok ? PMIX_ERROR : status_of(call.worst);
  call.found(status, list, count, call.data);
  PMIX_PDATA_FREE(list, call.values.size());
}

AgentLink::OnAnswer one_of(const SharedCall& call, const std::string& name) {
  return [call, name](Status status, const std::string& blob) {
    if (status != Status::ok) call->worst = status;
    if (status == Status::ok && call->found != nullptr) call->values.emplace_back(name, blob);
    if (--call->open > 0) return;
    if (call->found != nullptr) return in_libpmix([call] { give(*call); });
    call->call(status_of(call->worst), call->data);
  };
}

bool is_reserved(const pmix_info_t& info) {
  return std::strncmp(info.key, "pmix", 4) == 0;
}

// Returns how long a value stays. The lifetime of the application, of the session, and "for ever"
// are all treated as the lifetime of the job.
Keep keep_of(const pmix_info_t* infos, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!is_key(infos[i], PMIX_PERSISTENCE) || infos[i].value.type != PMIX_PERSIST) continue;
    if (infos[i].value.data.persist == PMIX_PERSIST_FIRST_READ) return Keep::first_read;
    if (infos[i].value.data.persist == PMIX_PERSIST_PROC) return Keep::rank;
  }
  return Keep::job;
}

// Returns std::nullopt if the range is one that this server does not support.
std::optional<Range> range_of(const pmix_info_t* infos, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!is_key(infos[i], PMIX_RANGE)) continue;
    if (infos[i].value.type != PMIX_DATA_RANGE) return std::nullopt;
    switch (infos[i].value.data.range) {
      case PMIX_RANGE_UNDEF:
      case PMIX_RANGE_SESSION:
      case PMIX_RANGE_GLOBAL:
        return Range::job;
      case PMIX_RANGE_NAMESPACE:
        return Range::space;
      case PMIX_RANGE_LOCAL:
        return Range::node;
      case PMIX_RANGE_PROC_LOCAL:
        return Range::rank;
      default:
        return std::nullopt;
    }
  }
  return Range::job;
}

// Returns true if the look-up waits. The directive is a flag, or the number of values to wait for.
bool asks_to_wait(const pmix_info_t* infos, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!is_key(infos[i], PMIX_WAIT)) continue;
    const pmix_value_t& value = infos[i].value;
    return value.type == PMIX_BOOL ? value.data.flag : true;
  }
  return false;
}

pmix_status_t publish(const pmix_proc_t* proc, const pmix_info_t* infos, size_t count,
                      pmix_op_cbfunc_t call, void* data) {
  const auto range = range_of(infos, count);
  if (!range) return PMIX_ERR_NOT_SUPPORTED;
  const Keep keep = keep_of(infos, count);
  std::vector<msg::Publish> questions;
  for (size_t i = 0; i < count; ++i) {
    if (is_reserved(infos[i])) continue;
    std::string packed = pack(*proc, infos[i].value);
    if (packed.empty()) return PMIX_ERR_PACK_FAILURE;
    if (packed.size() > kMaxSaid) return PMIX_ERR_OUT_OF_RESOURCE;
    questions.push_back(
        {0, served()->speaker(*proc), infos[i].key, keep, std::move(packed), *range});
  }
  if (questions.empty()) return PMIX_OPERATION_SUCCEEDED;
  const SharedCall shared = std::make_shared<NameCall>();
  shared->open = questions.size();
  shared->call = call;
  shared->data = data;
  for (msg::Publish& question : questions) {
    AgentLink::OnAnswer then = one_of(shared, question.name);
    served()->link().ask(std::move(question), std::move(then));
  }
  return PMIX_SUCCESS;
}

std::size_t count_of(char** keys) {
  std::size_t count = 0;
  while (keys != nullptr && keys[count] != nullptr)
    ++count;
  return count;
}

pmix_status_t lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t* infos, size_t count,
                     pmix_lookup_cbfunc_t call, void* data) {
  const std::size_t names = count_of(keys);
  if (names == 0) return PMIX_ERR_BAD_PARAM;
  const auto range = range_of(infos, count);
  if (!range) return PMIX_ERR_NOT_SUPPORTED;
  const bool wait = asks_to_wait(infos, count);
  const SharedCall shared = std::make_shared<NameCall>();
  shared->open = names;
  shared->found = call;
  shared->data = data;
  for (std::size_t i = 0; i < names; ++i)
    served()->link().ask(msg::Lookup{0, served()->speaker(*proc), keys[i], wait, *range},
                         one_of(shared, keys[i]), timeout_of(infos, count),
                         AgentLink::Overdue::given_up);
  return PMIX_SUCCESS;
}

pmix_status_t unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t* infos,
                        size_t count, pmix_op_cbfunc_t call, void* data) {
  const std::size_t names = count_of(keys);
  const auto range = range_of(infos, count);
  if (!range) return PMIX_ERR_NOT_SUPPORTED;
  if (names == 0) return PMIX_ERR_NOT_SUPPORTED;  // would unpublish all names
  const SharedCall shared = std::make_shared<NameCall>();
  shared->open = names;
  shared->call = call;
  shared->data = data;
  for (std::size_t i = 0; i < names; ++i)
    served()->link().ask(msg::Unpublish{0, served()->speaker(*proc), keys[i], *range},
                         one_of(shared, keys[i]));
  return PMIX_SUCCESS;
}

}  // namespace

pmix_server_module_t* upcalls_for(Server& server) {
  static pmix_server_module_t table{};
  the_server = &server;
  table.client_connected2 = connected;
  table.client_finalized = finalized;
  table.abort = abort_job;
  table.fence_nb = fence;
  table.direct_modex = direct_modex;
  table.connect = connect;
  table.disconnect = disconnect;
  table.publish = publish;
  table.lookup = lookup;
  table.unpublish = unpublish;
  table.group = group_upcall;
  add_observation(table);
  add_events(table);
  add_control(table);
  add_copies(table);
  table.spawn = spawn_upcall;
  return &table;
}

}  // namespace scela::pmix
