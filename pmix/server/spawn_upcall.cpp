// The upcall by which a rank spawns more ranks. It translates libpmix's programs and hints for the
// agent, and the agent answers with the name of the new ranks' namespace. By then every node that
// has a rank of the namespace knows it.
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "pmix/server/infos.h"
#include "pmix/server/pmix_server.h"
#include "pmix/server/upcalls.h"

namespace scela::pmix {

namespace {

void append(std::vector<std::string>& out, char** words) {
  while (words != nullptr && *words != nullptr)
    out.emplace_back(*words++);
}

std::string text_of(const pmix_info_t& info) {
  const bool there = info.value.type == PMIX_STRING && info.value.data.string != nullptr;
  return there ? info.value.data.string : "";
}

// Returns the ranks of a debugger's directive that its `stops` is to have, or a null pointer if the
// attribute is no such directive.
RankSet* stopped_by(const pmix_info_t& info, ask::Stops& stops) {
  if (is_key(info, PMIX_DEBUG_STOP_ON_EXEC)) return &stops.on_exec;
  if (is_key(info, PMIX_DEBUG_STOP_IN_INIT)) return &stops.in_init;
  return nullptr;
}

// Adds the ranks that a debugger's directive names. `all` are those for which the directive is.
// Returns false if the value has another type than the three that PMIx names.
bool add_ranks(const pmix_value_t& value, const RankSet& all, RankSet& out) {
  const auto add = [&](pmix_rank_t rank) {
    out.add(rank == PMIX_RANK_WILDCARD ? all : RankSet::single(rank));
  };
  if (value.type == PMIX_BOOL && value.data.flag) add(PMIX_RANK_WILDCARD);
  if (value.type == PMIX_PROC_RANK) add(value.data.rank);
  if (value.type == PMIX_BOOL || value.type == PMIX_PROC_RANK) return true;
  const pmix_data_array_t* const array =
      value.type == PMIX_DATA_ARRAY ? value.data.darray : nullptr;
  if (array == nullptr || array->array == nullptr) return false;
  for (std::size_t i = 0; i < array->size; ++i) {
    // The namespace of a process is not known yet to the debugger.
    if (array->type == PMIX_PROC) {
      add(static_cast<const pmix_proc_t*>(array->array)[i].rank);
    } else if (array->type == PMIX_PROC_RANK) {
      add(static_cast<const pmix_rank_t*>(array->array)[i]);
    } else {
      return false;
    }
  }
  return true;
}

// Applies the directives of a debugger among these attributes, which are for the ranks `all`.
// Returns false if one is malformed.
bool heed_debugger(const pmix_info_t* infos, std::size_t count, const RankSet& all,
                   ask::Stops& stops) {
  for (std::size_t i = 0; i < count; ++i) {
    RankSet* const ranks = stopped_by(infos[i], stops);
    if (ranks != nullptr && !add_ranks(infos[i].value, all, *ranks)) return false;
  }
  return true;
}

// Applies the directives of a debugger. Returns false if one is malformed, or names a rank that
// there will not be.
bool heed_debugger(const pmix_info_t* infos, std::size_t count, const pmix_app_t* apps,
                   msg::Spawn& spawn) {
  Rank next = 0;
  for (std::size_t i = 0; i < spawn.programs.size(); ++i) {
    const RankSet own = RankSet::run(next, spawn.programs[i].ranks);
    next += spawn.programs[i].ranks;
    if (!heed_debugger(apps[i].info, apps[i].ninfo, own, spawn.stops)) return false;
  }
  const RankSet all = RankSet::run(0, next);
  return heed_debugger(infos, count, all, spawn.stops) && all.contains_all(spawn.stops.on_exec) &&
         all.contains_all(spawn.stops.in_init);
}

// Tells the user which attribute of a spawn is not supported, among the output of the rank.
void report_unsupported(Rank rank, const pmix_info_t& info) {
  std::string text = cat("scela-pmix: PMIx_Spawn: the attribute ", info.key,
                         " is required, and is not supported (make it optional)\n");
  served()->link().ask(msg::Log{0, rank, true, std::move(text)}, [](Status, const std::string&) {});
}

// Applies directives to a program; the caller applies those for all programs first. Returns the
// required directive that is not known here, or a null pointer.
const pmix_info_t* heed(const pmix_info_t* infos, std::size_t count, msg::Spawn::Program& program) {
  ask::Stops unused;
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_info_t& info = infos[i];
    if (is_key(info, PMIX_WDIR)) {
      program.directory = text_of(info);
    } else if (is_key(info, PMIX_HOST)) {
      program.hosts = text_of(info);
    } else if (is_key(info, "path")) {
      program.path = text_of(info);
    } else if (is_key(info, PMIX_SET_ENVAR) && info.value.type == PMIX_ENVAR) {
      const pmix_envar_t& set = info.value.data.envar;
      if (set.envar != nullptr && set.value != nullptr)
        program.env.push_back(std::string(set.envar) + '=' + set.value);
    } else if (PMIX_INFO_IS_REQUIRED(&info) && stopped_by(info, unused) == nullptr) {
      return &info;
    }
  }
  return nullptr;
}

// Translates a program. Returns what heed() returns for its own directives.
const pmix_info_t* translate(const pmix_app_t& app, msg::Spawn::Program& out) {
  append(out.argv, app.argv);
  // If both cmd and argv are given, argv[0] is only the name that the program sees.
  if (out.argv.empty()) out.argv.emplace_back();
  if (app.cmd != nullptr) out.argv.front() = app.cmd;
  append(out.env, app.env);
  if (app.cwd != nullptr) out.directory = app.cwd;
  out.ranks = app.maxprocs > 0 ? static_cast<std::uint32_t>(app.maxprocs) : 0;
  return heed(app.info, app.ninfo, out);
}

}  // namespace

pmix_status_t spawn_upcall(const pmix_proc_t* proc, const pmix_info_t* infos, std::size_t count,
                           const pmix_app_t* apps, std::size_t programs, pmix_spawn_cbfunc_t call,
                           void* data) {
  const auto rank = served()->rank_of(*proc);
  if (!rank) return PMIX_ERR_NOT_FOUND;
  msg::Spawn question;
  question.rank = *rank;
  msg::Spawn::Program common;
  const pmix_info_t* unknown = heed(infos, count, common);
  for (std::size_t i = 0; i < programs; ++i) {
    question.programs.push_back(common);
    if (const auto* one = translate(apps[i], question.programs.back())) unknown = one;
    if (question.programs.back().argv.front().empty()) return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
  }
  if (unknown != nullptr) {
    report_unsupported(*rank, *unknown);
    return PMIX_ERR_NOT_SUPPORTED;
  }
  if (!heed_debugger(infos, count, apps, question)) return PMIX_ERR_BAD_PARAM;
  served()->link().ask(std::move(question), [call, data](Status status, const std::string& name) {
    pmix_nspace_t nspace{};
    if (status == Status::ok) name.copy(nspace, PMIX_MAX_NSLEN);
    call(status_of(status), nspace, data);
  });
  return PMIX_SUCCESS;
}

}  // namespace scela::pmix
