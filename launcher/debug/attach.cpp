#include "launcher/debug/attach.h"

#include "common/core/text.h"
#include "launcher/core/debug/process_table.h"
#include "launcher/core/report/job_report.h"
#include "launcher/core/report/report_text.h"
#include "launcher/debug/attach_socket.h"
#include "launcher/debug/debugging.h"
#include "launcher/debug/mpir.h"
#include "launcher/report/direct_output.h"

namespace scela {

namespace {

// Has the job start the program on each of its nodes, and shows where that has failed.
Result<void> start_tool(pid_t launcher, const std::vector<std::string>& tool) {
  std::string request(kAskTool);
  for (const std::string& word : tool) {
    if (word.find('\n') != std::string::npos || word.find(kToolSeparator) != std::string::npos) {
      return fail(Error{ErrorKind::usage, "start the debugger's program", "",
                        cat("'", printable(word), "' has a control character in it"),
                        "leave it out of MPIR_server_arguments"});
    }
    request += cat(kToolSeparator, word);
  }
  auto failures = ask_job(launcher, request);
  if (!failures) return fail(failures.error());
  print(2, failures->text);
  return {};
}

}  // namespace

int run_attach(const Options& options) {
  const auto launcher = static_cast<pid_t>(*options.attach);
  if (options.stack_traces) {
    const auto limit = options.stack_traces->count();
    auto got = ask_job(launcher, cat(kAskStacks, ' ', limit));
    return got ? answer(got->text) : complain(got.error());
  }
  auto got = ask_job(launcher, kAskProcesses);
  if (!got) return complain(got.error());
  // The first line is the job's name.
  const std::size_t head = got->text.find('\n');
  const std::string job_id = got->text.substr(0, head);
  const std::string text = head == std::string::npos ? "" : got->text.substr(head + 1);
  if (!is_debugged()) return answer(text);
  const auto table = parse_table(text);
  if (!table) return complain(table.error());
  if (const auto tool = tool_words(); !tool.empty()) {
    if (const auto started = start_tool(launcher, tool); !started) return complain(started.error());
  }
  publish_processes(*table, job_id);
  wait_for_end(*got);
  return kExitSuccess;
}

}  // namespace scela
