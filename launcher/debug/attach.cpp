#include "launcher/debug/attach.h"

#include "common/core/text.h"
#include "launcher/core/debug/process_table.h"
#include "launcher/core/report/job_report.h"
#include "launcher/debug/attach_socket.h"
#include "launcher/debug/debugging.h"
#include "launcher/debug/mpir.h"
#include "launcher/report/direct_output.h"

namespace scela {

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
  publish_processes(*table, job_id);
  wait_for_end(*got);
  return kExitSuccess;
}

}  // namespace scela
