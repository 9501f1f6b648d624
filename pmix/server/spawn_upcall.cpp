// The upcall by which a rank spawns more ranks. It translates libpmix's programs and hints for the
// agent, and the agent answers with the name of the new ranks' namespace. By then every node that
// has a rank of the namespace knows it.
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Applies directives to a program; the caller applies those for all programs first. Returns false
// if a required directive is not known here.
bool heed(const pmix_info_t* infos, std::size_t count, msg::Spawn::Program& program) {
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
    } else if (PMIX_INFO_IS_REQUIRED(&info)) {
      return false;
    }
  }
  return true;
}

bool translate(const pmix_app_t& app, msg::Spawn::Program& out) {
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
  if (!heed(infos, count, common)) return PMIX_ERR_NOT_SUPPORTED;
  for (std::size_t i = 0; i < programs; ++i) {
    question.programs.push_back(common);
    if (!translate(apps[i], question.programs.back())) return PMIX_ERR_NOT_SUPPORTED;
    if (question.programs.back().argv.front().empty()) return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
  }
  served()->link().ask(std::move(question), [call, data](Status status, const std::string& name) {
    pmix_nspace_t nspace{};
    if (status == Status::ok) name.copy(nspace, PMIX_MAX_NSLEN);
    call(status_of(status), nspace, data);
  });
  return PMIX_SUCCESS;
}

}  // namespace scela::pmix
