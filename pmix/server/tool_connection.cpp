#include "pmix/server/tool_connection.h"

#include <pmix_tool.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "common/core/text.h"
#include "pmix/server/infos.h"

namespace scela::pmix {
namespace {

// The variables that name the server, the newest first. Each is of a version of the handshake.
constexpr const char* kServers[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                                    "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"};
// Variables of the process for which the server was named. With one of them libpmix would connect
// in the name of that process.
constexpr const char* kOfProcess[] = {"PMIX_NAMESPACE", "PMIX_RANK"};

constexpr int kUnavailable = 69;  // as EX_UNAVAILABLE of sysexits(3)

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// Returns true if a file of the directory, by which tools find servers, begins with this URI.
bool has_file_of(const std::string& directory, const std::string& uri) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    if (!entry.path().filename().string().starts_with("pmix.")) continue;
    if (!entry.is_regular_file(ignored)) continue;
    std::ifstream file(entry.path());
    std::string line;
    if (std::getline(file, line) && line == uri) return true;
  }
  return false;
}

// Returns true if the server says that it takes tools: it has left its URI in a file
// (PMIX_SERVER_TOOL_SUPPORT, PMIX_SERVER_SYSTEM_SUPPORT). Others must be left alone, because
// libpmix 4.2 in a server crashes if the server refuses a tool.
bool takes_tools(const std::string& uri) {
  for (const char* place : {"PMIX_SERVER_TMPDIR", "PMIX_SYSTEM_TMPDIR"}) {
    const std::string directory = variable(place);
    if (!directory.empty() && has_file_of(directory, uri)) return true;
  }
  return false;
}

// Ends this process when the connection has ended: calls of libpmix might wait for ever.
void on_lost_server(std::size_t /*handler*/, pmix_status_t /*code*/, const pmix_proc_t* /*source*/,
                    pmix_info_t* /*infos*/, std::size_t /*count*/, pmix_info_t* /*results*/,
                    std::size_t /*result_count*/, pmix_event_notification_cbfunc_fn_t /*call*/,
                    void* /*data*/) {
  std::fputs("the PMIx server has closed its connection\n", stderr);
  std::fflush(stderr);
  ::_exit(kUnavailable);
}

// Returns the name of the server to which this process is connected.
std::string name_of_server() {
  pmix_proc_t* servers = nullptr;
  std::size_t count = 0;
  if (PMIx_tool_get_servers(&servers, &count) != PMIX_SUCCESS || count == 0) return "unknown";
  std::string out = cat(servers[0].nspace, ".", servers[0].rank);
  PMIX_PROC_FREE(servers, count);
  return out;
}

}  // namespace

ServerOfJob take_server_of_job() {
  ServerOfJob out;
  for (const char* name : kServers) {
    if (out.uri.empty()) out.uri = variable(name);
    ::unsetenv(name);
  }
  out.nspace = variable("PMIX_NAMESPACE");
  for (const char* name : kOfProcess)
    ::unsetenv(name);
  // The shared memory of the job is for its processes only.
  ::setenv("PMIX_GDS_MODULE", "hash", 1);
  return out;
}

Result<std::string> connect(const ServerOfJob& job) {
  const auto failed = [&](const char* why, const char* hint) {
    return fail(
        Error{ErrorKind::unreachable, "connect as a tool to the PMIx server", job.uri, why, hint});
  };
  if (!job.uri.empty() && !takes_tools(job.uri)) {
    return failed("it does not say in PMIX_SERVER_TMPDIR that it takes tools",
                  "it must be started with PMIX_SERVER_TOOL_SUPPORT");
  }
  Infos infos;
  if (job.uri.empty()) {
    infos.add(PMIX_CONNECT_SYSTEM_FIRST, true);
  } else {
    infos.add(PMIX_SERVER_URI, job.uri);
  }
  pmix_proc_t self{};
  const pmix_status_t status = PMIx_tool_init(&self, infos.data(), infos.size());
  if (status != PMIX_SUCCESS) return failed(PMIx_Error_string(status), "");
  pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
  PMIx_Register_event_handler(&lost, 1, nullptr, 0, on_lost_server, nullptr, nullptr);
  return job.uri.empty() ? name_of_server() : job.uri.substr(0, job.uri.find(';'));
}

std::optional<std::uint32_t> size_of_job(const std::string& nspace) {
  pmix_proc_t all{};
  nspace.copy(all.nspace, PMIX_MAX_NSLEN);
  all.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, &value) != PMIX_SUCCESS) return std::nullopt;
  std::optional<std::uint32_t> out;
  if (value->type == PMIX_UINT32) out = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return out;
}

int complain(const Error& error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  return kUnavailable;
}

}  // namespace scela::pmix
