// The upcalls for observers: queries, and tools that connect to the server.
//
// libpmix does not say which process has made a query. A query without a namespace is about the
// first namespace, and a table is then one of all namespaces. A query that needs no table of
// processes is answered at once. Others are answered when the agent has asked the agents of other
// nodes.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "pmix/core/process.h"
#include "pmix/server/infos.h"
#include "pmix/server/pmix_server.h"
#include "pmix/server/upcalls.h"

namespace scela::pmix {

namespace {

// The time in which the agents of other nodes must answer. After that the query fails, and partial
// answers are not used.
constexpr std::chrono::seconds kTableLimit{20};

struct Want {
  std::string key;
  Server::SpacePtr space;  // its subject; null: no such namespace
  bool named = false;      // the query names the namespace
  bool local_only = false;
  std::optional<Rank> rank;  // about this rank of the namespace
};
struct Query {
  std::vector<Want> wants;
  pmix_info_cbfunc_t call = nullptr;
  void* data = nullptr;
};

// The keys that a query may ask for. Each needs no table of processes, this node's table, or the
// table of all nodes.
enum class Need { nothing, here, everywhere };
struct Key {
  const char* name;
  Need need;
};
constexpr Key kKeys[] = {
    {PMIX_QUERY_NAMESPACES, Need::nothing},
    {PMIX_QUERY_NAMESPACE_INFO, Need::everywhere},
    {PMIX_QUERY_PROC_TABLE, Need::everywhere},
    {PMIX_QUERY_LOCAL_PROC_TABLE, Need::here},
    {PMIX_QUERY_JOB_STATUS, Need::everywhere},
    {PMIX_EXIT_CODE, Need::everywhere},
    {PMIX_PROC_STATE_STATUS, Need::everywhere},
    {PMIX_PROC_PID, Need::everywhere},
    {PMIX_QUERY_SUPPORTED_KEYS, Need::nothing},
    {PMIX_JOB_SIZE, Need::nothing},
    {PMIX_JOB_NUM_APPS, Need::nothing},
    {PMIX_NUM_NODES, Need::nothing},
    {PMIX_UNIV_SIZE, Need::nothing},
};

const Key* key_of(const std::string& name) {
  for (const Key& key : kKeys) {
    if (name == key.name) return &key;
  }
  return nullptr;
}

std::string supported_keys() {
  std::string out;
  for (const Key& key : kKeys)
    out += cat(out.empty() ? "" : ",", key.name);
  return out;
}

pmix_proc_state_t state_of(ProcessState state) {
  switch (state) {
    case ProcessState::waiting:
      return PMIX_PROC_STATE_LAUNCH_UNDERWAY;
    case ProcessState::running:
      return PMIX_PROC_STATE_RUNNING;
    case ProcessState::connected:
      return PMIX_PROC_STATE_CONNECTED;
    case ProcessState::exited:
      return PMIX_PROC_STATE_TERMINATED;
    case ProcessState::unfinished:
      return PMIX_PROC_STATE_TERM_WO_SYNC;
    case ProcessState::signaled:
      return PMIX_PROC_STATE_ABORTED_BY_SIG;
    case ProcessState::aborted:
      return PMIX_PROC_STATE_CALLED_ABORT;
    case ProcessState::not_started:
      return PMIX_PROC_STATE_FAILED_TO_START;
    case ProcessState::lost:
      return PMIX_PROC_STATE_COMM_FAILED;
  }
  return PMIX_PROC_STATE_UNDEF;
}

int exit_code_of(const Process& process) {
  constexpr int kSignalStatus = 128;  // as in shells
  return process.state == ProcessState::signaled ? kSignalStatus + process.code : process.code;
}

bool has_failed(const Process& process) {
  return process.state >= ProcessState::exited &&
         (process.state != ProcessState::exited || process.code != 0);
}

// Returns the first word of the rank's command line.
std::string executable_of(Rank rank) {
  for (const Server::SpacePtr& space : served()->spaces()) {
    for (const msg::World::Program& program : space->programs) {
      if (program.ranks.contains(rank)) return program.words.substr(0, program.words.find(' '));
    }
  }
  return {};
}

std::string host_of(const pmix_proc_t& proc) {
  const auto space = served()->space(proc.nspace);
  if (space == nullptr) return {};
  const auto node = space->map.node_of(proc.rank);
  return node ? served()->host(*node) : std::string();
}

class ProcessArray {
 public:
  ProcessArray(const std::vector<Process>& processes, const RankSet& of) {
    std::vector<const Process*> chosen;
    for (const Process& one : processes) {
      if (of.contains(one.rank)) chosen.push_back(&one);
    }
    PMIX_DATA_ARRAY_CONSTRUCT(&array_, chosen.size(), PMIX_PROC_INFO);
    auto* to = static_cast<pmix_proc_info_t*>(array_.array);
    for (const Process* one : chosen)
      fill(*one, *to++);
  }
  ~ProcessArray() { PMIX_DATA_ARRAY_DESTRUCT(&array_); }
  ProcessArray(const ProcessArray&) = delete;
  ProcessArray& operator=(const ProcessArray&) = delete;
  pmix_data_array_t& array() { return array_; }

 private:
  static void fill(const Process& from, pmix_proc_info_t& to) {
    to.proc = served()->process(from.rank);
    to.hostname = ::strdup(host_of(to.proc).c_str());
    to.executable_name = ::strdup(executable_of(from.rank).c_str());
    to.pid = static_cast<pid_t>(from.pid);
    to.state = state_of(from.state);
    to.exit_code = exit_code_of(from);
  }
  pmix_data_array_t array_{};
};

pmix_status_t job_status(const Space& space, const std::vector<Process>& processes) {
  const RankSet ranks = space.ranks();
  for (const Process& one : processes) {
    if (ranks.contains(one.rank) && has_failed(one)) return PMIX_ERR_JOB_NON_ZERO_TERM;
  }
  return PMIX_SUCCESS;
}

void add_namespace(Infos& list, const Space& space, const std::vector<Process>& processes) {
  Infos of;
  of.add(PMIX_NSPACE, space.name);
  of.add(PMIX_JOB_SIZE, space.map.size());
  of.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(space.nodes()));
  for (const msg::World::Program& program : space.programs)
    of.add(PMIX_CMD_LINE, program.words);
  of.add_status(PMIX_QUERY_JOB_STATUS, job_status(space, processes));
  list.add(PMIX_JOB_INFO_ARRAY, of);
}

// Adds one field of a process. libpmix 4.2 leaves some fields out of a table.
bool add_process(Infos& infos, const Want& want, const std::vector<Process>& processes) {
  for (const Process& one : processes) {
    if (!want.rank || want.space->first + *want.rank != one.rank) continue;
    if (want.key == PMIX_EXIT_CODE) {
      infos.add_int(PMIX_EXIT_CODE, exit_code_of(one));
    } else if (want.key == PMIX_PROC_PID) {
      infos.add_pid(PMIX_PROC_PID, static_cast<pid_t>(one.pid));
    } else {
      infos.add_state(PMIX_PROC_STATE_STATUS, state_of(one.state));
    }
    return true;
  }
  return false;
}

bool is_of_process(const std::string& key) {
  return key == PMIX_EXIT_CODE || key == PMIX_PROC_STATE_STATUS || key == PMIX_PROC_PID;
}

// Returns the ranks of the named namespace, else of all namespaces.
RankSet chosen_ranks(const Want& want, bool here) {
  RankSet out;
  for (const Server::SpacePtr& one : served()->spaces()) {
    if (want.named && one != want.space) continue;
    out.add(here ? one->ranks_of(served()->setup().node) : one->ranks());
  }
  return out;
}

// Returns false if the requested value does not exist.
bool add_answer(Infos& infos, const Want& want, const std::vector<Process>& processes) {
  if (want.key == PMIX_QUERY_NAMESPACES) {
    std::string names;
    for (const Server::SpacePtr& one : served()->spaces())
      names += cat(names.empty() ? "" : ",", one->name);
    infos.add(PMIX_QUERY_NAMESPACES, names);
    return true;
  }
  if (want.key == PMIX_QUERY_SUPPORTED_KEYS) {
    infos.add(PMIX_QUERY_SUPPORTED_KEYS, supported_keys());
    return true;
  }
  if (want.space == nullptr || key_of(want.key) == nullptr) return false;
  const Space& space = *want.space;
  if (is_of_process(want.key)) return add_process(infos, want, processes);
  if (want.key == PMIX_QUERY_NAMESPACE_INFO) {
    Infos list;
    for (const Server::SpacePtr& one : served()->spaces())
      if (!want.named || one == want.space) add_namespace(list, *one, processes);
    infos.add(PMIX_QUERY_NAMESPACE_INFO, list);
  } else if (want.key == PMIX_QUERY_PROC_TABLE || want.key == PMIX_QUERY_LOCAL_PROC_TABLE) {
    const bool here = want.local_only || want.key == PMIX_QUERY_LOCAL_PROC_TABLE;
    ProcessArray array(processes, chosen_ranks(want, here));
    infos.add_array(want.key.c_str(), array.array());
  } else if (want.key == PMIX_QUERY_JOB_STATUS) {
    infos.add_status(PMIX_QUERY_JOB_STATUS, job_status(space, processes));
  } else if (want.key == PMIX_JOB_SIZE) {
    infos.add(PMIX_JOB_SIZE, space.map.size());
  } else if (want.key == PMIX_JOB_NUM_APPS) {
    infos.add(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(space.programs.size()));
  } else if (want.key == PMIX_NUM_NODES) {
    infos.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(space.nodes()));
  } else {
    infos.add(PMIX_UNIV_SIZE, space.universe);
  }
  return true;
}

void free_infos(void* infos) {
  delete static_cast<Infos*>(infos);
}

void give(const Query& query, const std::vector<Process>& processes) {
  auto infos = std::make_unique<Infos>();
  std::size_t found = 0;
  bool unknown = false;
  for (const Want& want : query.wants) {
    if (add_answer(*infos, want, processes)) {
      ++found;
    } else {
      unknown = unknown || key_of(want.key) == nullptr;
    }
  }
  if (found == 0) {
    const pmix_status_t why = unknown ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_NOT_FOUND;
    return query.call(why, nullptr, 0, query.data, nullptr, nullptr);
  }
  const bool all = found == query.wants.size();
  pmix_info_t* const data = infos->data();
  const std::size_t size = infos->size();
  query.call(all ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS, data, size, query.data, free_infos,
             infos.release());
}

// Returns the parts of a Want that the qualifiers of a query give.
Want common_of(const pmix_query_t& query) {
  Want out;
  const auto about = [&](const char* nspace) {
    out.space = served()->space(nspace);
    out.named = true;
  };
  const auto all = served()->spaces();
  if (!all.empty()) out.space = all.front();
  for (std::size_t i = 0; i < query.nqual; ++i) {
    const pmix_info_t& one = query.qualifiers[i];
    const pmix_value_t& value = one.value;
    if (is_key(one, PMIX_NSPACE) && value.type == PMIX_STRING && value.data.string != nullptr) {
      about(value.data.string);
    } else if (is_key(one, PMIX_PROCID) && value.type == PMIX_PROC && value.data.proc != nullptr) {
      about(value.data.proc->nspace);
      out.rank = value.data.proc->rank;
    } else if (is_key(one, PMIX_RANK) && value.type == PMIX_PROC_RANK) {
      out.rank = value.data.rank;
    } else if (is_key(one, PMIX_QUERY_LOCAL_ONLY)) {
      out.local_only = PMIX_INFO_TRUE(&one);
    }
  }
  return out;
}

pmix_status_t query(pmix_proc_t*, pmix_query_t* queries, size_t count, pmix_info_cbfunc_t call,
                    void* data) {
  auto question = std::make_shared<Query>();
  question->call = call;
  question->data = data;
  Need need = Need::nothing;
  RankSet ranks;  // the query is about these
  bool about_all = false;
  for (size_t i = 0; i < count; ++i) {
    Want want = common_of(queries[i]);
    for (char** key = queries[i].keys; key != nullptr && *key != nullptr; ++key) {
      want.key = *key;
      question->wants.push_back(want);
      const Key* const known = key_of(want.key);
      if (known == nullptr || want.space == nullptr) continue;
      if (is_of_process(want.key) && want.rank && *want.rank < want.space->map.size())
        ranks.add(want.space->first + *want.rank);
      else
        about_all = about_all || known->need == Need::everywhere;
      need = std::max(need, want.local_only ? std::min(known->need, Need::here) : known->need);
    }
  }
  if (need == Need::nothing) {
    give(*question, {});
    return PMIX_SUCCESS;
  }
  const auto then = [question](Status status, const std::string& blob) {
    const auto processes = decode_processes(blob);
    if (status == Status::ok && processes) {
      return in_libpmix([question, processes] { give(*question, *processes); });
    }
    const pmix_status_t why = status_of(status);
    in_libpmix(
        [question, why] { question->call(why, nullptr, 0, question->data, nullptr, nullptr); });
  };
  served()->link().ask(
      msg::TableWanted{0, need == Need::here, about_all ? RankSet() : std::move(ranks)}, then,
      kTableLimit);
  return PMIX_SUCCESS;
}

// The next functions serve tools. Only processes of this user come this far (accept.cpp).

std::optional<pmix_proc_t> own_name(const pmix_info_t* infos, size_t count) {
  pmix_proc_t proc{};
  bool named = false;
  for (size_t i = 0; i < count; ++i) {
    const pmix_value_t& value = infos[i].value;
    if (is_key(infos[i], PMIX_NSPACE) && value.type == PMIX_STRING &&
        value.data.string != nullptr) {
      std::strncpy(proc.nspace, value.data.string, PMIX_MAX_NSLEN);
      named = true;
    }
    if (is_key(infos[i], PMIX_RANK) && value.type == PMIX_PROC_RANK) proc.rank = value.data.rank;
  }
  if (!named) return std::nullopt;
  return proc;
}

void tool_connected(pmix_info_t* infos, size_t count, pmix_tool_connection_cbfunc_t call,
                    void* data) {
  static std::atomic<unsigned> next{1};
  const msg::Setup& setup = served()->setup();
  pmix_status_t status = PMIX_SUCCESS;
  pmix_proc_t proc{};
  if (const auto named = own_name(infos, count)) {
    proc = *named;
    // A rank may also be a tool, under its own name.
    const auto space = served()->space(proc.nspace);
    const bool other = space && !space->map.ranks_of(setup.node).contains(proc.rank);
    const bool taken =
        (!space && served()->is_coming(proc)) || proc.nspace == cat(setup.job, "-servers");
    if (other || taken) status = PMIX_ERR_NO_PERMISSIONS;
  } else {
    cat(setup.job, "-tool-", setup.node, "-", next++).copy(proc.nspace, PMIX_MAX_NSLEN);
  }
  if (status == PMIX_SUCCESS) tool_came(proc);
  call(status, &proc, data);
}

}  // namespace

void add_observation(pmix_server_module_t& table) {
  table.query = query;
  table.tool_connected = tool_connected;
}

}  // namespace scela::pmix
