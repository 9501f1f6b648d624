// Defines replay() of record.h, the only part of it that needs the agent itself.
#include "common/core/text.h"
#include "nla/core/record/record.h"
#include "nla/core/tree/agent.h"

namespace scela::nla {

std::string ReplayReport::text() const {
  const std::string_view who = role == Role::root ? "the root" : "an agent";
  const std::string_view end = cut_short ? "; the last entry of the record is cut short" : "";
  if (!difference) return cat(events, " events of ", who, " gave the recorded actions", end);
  return cat("event ", difference->index, " (", difference->event, ") of ", who,
             " did not give the recorded actions; the replay gave: ",
             difference->actions.empty() ? "nothing" : difference->actions);
}

Result<ReplayReport> replay(std::string_view log) {
  Result<RecordReader> reader = RecordReader::open(log);
  if (!reader) return fail(std::move(reader.error()));
  ReplayReport report;
  report.role = reader->role();
  Agent agent(report.role);
  for (;;) {
    Result<std::optional<RecordReader::Entry>> entry = reader->next();
    if (!entry) return fail(std::move(entry.error()));
    if (!*entry) break;
    Actions actions;
    agent.handle((*entry)->event, actions);
    ++report.events;
    if (digest(actions) == (*entry)->digest) continue;
    report.difference = {report.events - 1, std::string(name_of((*entry)->event)), ""};
    for (const Action& action : actions) {
      if (!report.difference->actions.empty()) report.difference->actions += ", ";
      report.difference->actions += name_of(action);
    }
    break;
  }
  report.cut_short = reader->cut_short();
  return report;
}

}  // namespace scela::nla
