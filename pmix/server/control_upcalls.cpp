// The upcalls of libpmix that act on ranks: they send signals and add text to the ranks' output.
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "common/core/requests/pmix_directives.h"
#include "pmix/server/infos.h"
#include "pmix/server/pmix_server.h"
#include "pmix/server/upcalls.h"

// With a host that controls jobs, libpmix keeps a list of files that processes want removed after
// their end. It removes them as soon as it hears of PMIx_Finalize. Among them is Open MPI's shared
// memory, which Open MPI itself removes later and would then miss. So this function replaces
// libpmix's and removes nothing; files of the job are in directories that are removed with it.
// libpmix calls the function by its symbol, and the program's symbols come first, as in accept.cpp.
// NOLINTNEXTLINE(readability-identifier-naming): libpmix's name.
extern "C" __attribute__((visibility("default"))) void pmix_execute_epilog(void*) {}

namespace scela::pmix {

namespace {

std::optional<int> number_of(const pmix_value_t& value) {
  if (value.type == PMIX_INT) return value.data.integer;
  if (value.type == PMIX_INT32) return value.data.int32;
  if (value.type == PMIX_UINT32) return static_cast<int>(value.data.uint32);
  return std::nullopt;
}

// Returns the signal that a directive means, or std::nullopt if the directive is no action or one
// that is not supported.
std::optional<int> signal_of(const pmix_info_t& directive) {
  if (is_key(directive, PMIX_JOB_CTRL_SIGNAL)) return number_of(directive.value);
  constexpr std::pair<const char*, int> kActions[] = {{PMIX_JOB_CTRL_KILL, SIGKILL},
                                                      {PMIX_JOB_CTRL_TERMINATE, SIGTERM},
                                                      {PMIX_JOB_CTRL_PAUSE, SIGSTOP},
                                                      {PMIX_JOB_CTRL_RESUME, SIGCONT}};
  for (const auto& [key, signo] : kActions) {
    if (is_key(directive, key) && PMIX_INFO_TRUE(&directive)) return signo;
  }
  return std::nullopt;
}

// Returns true for directives that ask for no action here: files to remove, which may come along,
// and names of requests.
bool is_aside(const pmix_info_t& directive) {
  for (const char* const key :
       {PMIX_JOB_CTRL_ID, PMIX_REGISTER_CLEANUP, PMIX_REGISTER_CLEANUP_DIR, PMIX_CLEANUP_RECURSIVE,
        PMIX_CLEANUP_IGNORE, PMIX_CLEANUP_LEAVE_TOPDIR}) {
    if (is_key(directive, key)) return true;
  }
  return false;
}

// Returns true for information that a rank gives about itself, for a scheduler that may suspend or
// move the rank.
bool is_information(const pmix_info_t& directive) {
  for (const char* const key :
       {PMIX_JOB_CTRL_PREEMPTIBLE, PMIX_JOB_CTRL_CHECKPOINT_METHOD, PMIX_JOB_CTRL_CHECKPOINT_EVENT,
        PMIX_JOB_CTRL_CHECKPOINT_SIGNAL, PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT}) {
    if (is_key(directive, key)) return true;
  }
  return false;
}

AgentLink::OnAnswer with_status(pmix_info_cbfunc_t call, void* data) {
  return [call, data](Status status, const std::string&) {
    in_libpmix(
        [call, data, status] { call(status_of(status), nullptr, 0, data, nullptr, nullptr); });
  };
}

// Handles a directive by which libscela tells of its own process
// (common/core/requests/pmix_directives.h). Returns std::nullopt for any other request.
std::optional<pmix_status_t> told_of_itself(const pmix_proc_t& asker, const pmix_info_t& directive,
                                            pmix_info_cbfunc_t call, void* data) {
  const bool leaves = is_key(directive, kPmixLeaveJob);
  if (!leaves && !is_key(directive, kPmixRejoinJob)) return std::nullopt;
  const auto rank = served()->rank_of(asker);
  if (!rank) return PMIX_ERR_BAD_PARAM;
  if (leaves) {
    served()->link().ask(msg::Finalized{0, *rank}, with_status(call, data));
  } else {
    served()->link().post(msg::Connected{*rank});
    served()->link().later([answer = with_status(call, data)] { answer(Status::ok, {}); });
  }
  return PMIX_SUCCESS;
}

pmix_status_t job_control(const pmix_proc_t* asker, const pmix_proc_t targets[], size_t count,
                          const pmix_info_t directives[], size_t directive_count,
                          pmix_info_cbfunc_t call, void* data) {
  if (directive_count == 1) {
    if (const auto told = told_of_itself(*asker, directives[0], call, data)) return *told;
  }
  std::optional<int> signo;
  bool informs = false;
  for (size_t i = 0; i < directive_count; ++i) {
    if (is_aside(directives[i])) continue;
    if (is_information(directives[i])) {
      informs = true;
      continue;
    }
    const std::optional<int> one = signal_of(directives[i]);
    if (!one || signo) return PMIX_ERR_NOT_SUPPORTED;  // only one action per call
    signo = one;
  }
  // Information alone is accepted without an effect, as mpirun does.
  if (!signo) return informs ? PMIX_OPERATION_SUCCEEDED : PMIX_ERR_NOT_SUPPORTED;
  if (*signo < 1 || *signo >= NSIG) return PMIX_ERR_BAD_PARAM;
  RankSet ranks = served()->ranks_of(targets, targets == nullptr ? 0 : count);
  if (targets == nullptr || count == 0) {  // all ranks of the asker's namespace
    const auto space = served()->space(asker->nspace);
    if (space == nullptr) return PMIX_ERR_BAD_PARAM;
    ranks = space->ranks();
  }
  if (ranks.empty()) return PMIX_ERR_NOT_FOUND;
  served()->link().ask(msg::Control{0, std::move(ranks), *signo}, with_status(call, data));
  return PMIX_SUCCESS;
}

// During this call libpmix holds a lock that its answer needs, so the answer always comes from
// another thread. One call may hold several texts, and the answer to the last one ends it.
void log(const pmix_proc_t* client, const pmix_info_t texts[], size_t count, const pmix_info_t*,
         size_t, pmix_op_cbfunc_t call, void* data) {
  const auto answer = [call, data](pmix_status_t status) {
    if (call != nullptr) call(status, data);
  };
  const auto rank = served()->rank_of(*client);
  bool fine = count > 0 && rank;
  for (size_t i = 0; i < count; ++i) {
    const bool stream = is_key(texts[i], PMIX_LOG_STDOUT) || is_key(texts[i], PMIX_LOG_STDERR);
    const pmix_value_t& value = texts[i].value;
    fine = fine && stream && value.type == PMIX_STRING && value.data.string != nullptr &&
           std::strlen(value.data.string) <= kMaxSaid;
  }
  if (!fine) {
    return served()->link().later([answer] { answer(PMIX_ERR_NOT_SUPPORTED); });
  }
  for (size_t i = 0; i < count; ++i) {
    msg::Log one{0, *rank, is_key(texts[i], PMIX_LOG_STDERR), texts[i].value.data.string};
    const bool last = i + 1 == count;
    served()->link().ask(std::move(one), [answer, last](Status status, const std::string&) {
      if (last) answer(status_of(status));
    });
  }
}

pmix_status_t allocate(const pmix_proc_t*, pmix_alloc_directive_t, const pmix_info_t*, size_t,
                       pmix_info_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;  // a job's hosts do not change
}

}  // namespace

void add_control(pmix_server_module_t& table) {
  table.job_control = job_control;
  table.log = log;
  table.allocate = allocate;
}

}  // namespace scela::pmix
