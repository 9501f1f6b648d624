// The losses of nodes, as events of the server. libpmix calls the handler in a thread of its own,
// one call at a time.
//
// libpmix in the server keeps events for a while, and repeats them to each tool that registers. A
// node that was lost before may be in use again, as the allocation names it. So events count only
// from the first answer of the server that comes after the registration.
#include <pmix_tool.h>
#include <poll.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/requests/resource_text.h"
#include "common/core/text.h"
#include "pmix/server/infos.h"
#include "pmix/server/tool.h"
#include "pmix/server/tool_connection.h"

namespace scela::pmix {
namespace {

// Writes a line at once, so that lines of two threads do not mix. A failure is seen by the main
// thread as the end of standard output.
void write_line(const std::string& text) {
  const std::string line = cat(text, "\n");
  static_cast<void>(!::write(STDOUT_FILENO, line.data(), line.size()));
}

// The losses that were told so far. Before `is_written`, they wait for the main thread.
struct Losses {
  std::mutex mutex;
  bool counts = false;
  bool is_written = false;
  std::vector<std::string> noted;
};
Losses losses;

// Waits for an answer of the server, which comes behind everything that it has sent before.
void await_answer() {
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  pmix_status_t status = PMIX_SUCCESS;
  PMIX_ARGV_APPEND(status, query.keys, PMIX_QUERY_NAMESPACES);
  pmix_info_t* infos = nullptr;
  std::size_t count = 0;
  if (status == PMIX_SUCCESS) status = PMIx_Query_info(&query, 1, &infos, &count);
  if (infos != nullptr) PMIX_INFO_FREE(infos, count);
  PMIX_QUERY_DESTRUCT(&query);
}

std::string_view name_of_event(pmix_status_t code) {
  return code == PMIX_EVENT_NODE_OFFLINE ? "PMIX_EVENT_NODE_OFFLINE" : "PMIX_EVENT_NODE_DOWN";
}

void on_event(std::size_t /*handler*/, pmix_status_t code, const pmix_proc_t* /*source*/,
              pmix_info_t infos[], std::size_t count, pmix_info_t* /*results*/,
              std::size_t /*result_count*/, pmix_event_notification_cbfunc_fn_t call, void* data) {
  const std::lock_guard lock(losses.mutex);
  for (std::size_t i = 0; losses.counts && i < count; ++i) {
    const pmix_value_t& value = infos[i].value;
    const bool is_name = is_key(infos[i], PMIX_HOSTNAME) && value.type == PMIX_STRING;
    if (!is_name || value.data.string == nullptr || !is_resource_word(value.data.string)) continue;
    const std::string line = text_of(LostNode{value.data.string, std::string(name_of_event(code))});
    if (losses.is_written)
      write_line(line);
    else
      losses.noted.push_back(line);
  }
  if (call != nullptr) call(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

}  // namespace

Result<void> note_losses(const std::string& server) {
  pmix_status_t codes[] = {PMIX_EVENT_NODE_DOWN, PMIX_EVENT_NODE_OFFLINE};
  // The call returns the number of the handler once the server knows of it, or an error.
  const pmix_status_t handler =
      PMIx_Register_event_handler(codes, 2, nullptr, 0, on_event, nullptr, nullptr);
  if (handler < 0) {
    return fail(Error{ErrorKind::unreachable, "listen for lost nodes", server,
                      PMIx_Error_string(handler), ""});
  }
  await_answer();
  const std::lock_guard lock(losses.mutex);
  losses.counts = true;
  return {};
}

int write_losses() {
  {
    const std::lock_guard lock(losses.mutex);
    write_line("listening");
    for (const std::string& line : losses.noted)
      write_line(line);
    losses.is_written = true;
  }
  pollfd reader{STDOUT_FILENO, 0, 0};
  while (::poll(&reader, 1, -1) < 0) {
  }
  return 0;
}

int tell_lost_nodes() {
  const ServerOfJob job = take_server_of_job();
  const auto server = connect(job);
  if (!server) return complain(server.error());
  if (const auto noted = note_losses(*server); !noted) return complain(noted.error());
  return write_losses();
}

}  // namespace scela::pmix
