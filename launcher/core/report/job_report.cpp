#include "launcher/core/report/job_report.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/core/counted.h"
#include "common/core/nodeset/nodeset.h"
#include "common/core/text.h"
#include "launcher/core/report/hosts_report.h"
#include "launcher/core/report/report_text.h"
#include "launcher/core/values/utf8.h"

namespace scela {
namespace {

using Kind = RankOutcome::Kind;

constexpr std::size_t kMaxGroups = 6;  // keeps the cause on the screen
constexpr std::size_t kMaxText = 60;   // characters of a rank or node set

// Returns the code point of a character. `bytes` must be well formed.
char32_t character(std::string_view bytes) {
  char32_t number = static_cast<unsigned char>(bytes[0]);
  if (bytes.size() > 1) number &= 0x7fU >> bytes.size();
  for (const char byte : bytes.substr(1))
    number = number << 6 | (static_cast<unsigned char>(byte) & 0x3fU);
  return number;
}

// Returns true for characters that terminals treat like an escape sequence (C0, C1). It is also
// true for those that end a line or change its direction.
bool is_obeyed(char32_t one) {
  return one < 0x20 || (one >= 0x7f && one < 0xa0) || one == 0x61c || one == 0x200e ||
         one == 0x200f || (one >= 0x2028 && one <= 0x202e) || (one >= 0x2066 && one <= 0x2069);
}

constexpr ExitRow kExitTable[] = {
    {"0", "All ranks exited with 0."},
    {"1", "A rank ended without finalizing, or broke the PMI protocol."},
    {"64", "Wrong use: options, host list, host file, or more ranks than slots."},
    {"68", "A node could not be reached, or was lost."},
    {"70", "A fault of ScELA itself, or it may not open the few files that it needs."},
    {"71", "An agent or a program could not be started for another reason."},
    {"74", "Output could not be written."},
    {"124", "The time limit of --timeout was reached, or first that of --host-timeout."},
    {"126", "The program was found but cannot be executed."},
    {"127", "The program was not found."},
    {"128+N", "Signal N killed the first rank that failed, or ended scela-run (130: Ctrl-C)."},
    {"other",
     "The code of the first rank that failed, or the largest of all hosts (see --exit-status)."},
};

std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto comma = text.rfind(',', most);
  text.resize(comma == std::string::npos || comma == 0 ? most : comma + 1);
  return text + "...";
}

std::string with_message(std::string_view cause, const std::string& message) {
  return message.empty() ? std::string(cause) : cat(cause, ": ", printable(message));
}

bool is_same_but_for_message(const RankOutcome& a, const RankOutcome& b) {
  return a.kind == b.kind && a.code == b.code && a.signal == b.signal &&
         a.core_dumped == b.core_dumped;
}

// Returns the failed group with the lowest rank, or nullptr if no rank failed.
const JobOutcome::Group* lowest_failure(const JobOutcome& job) {
  const JobOutcome::Group* lowest = nullptr;
  for (const JobOutcome::Group& group : job.groups) {
    if (!group.outcome.failed() || group.ranks.empty()) continue;
    if (lowest == nullptr || group.ranks.front() < lowest->ranks.front()) lowest = &group;
  }
  return lowest;
}

bool was_ended_early(const JobOutcome& job) {
  return std::ranges::any_of(
      job.groups, [](const auto& group) { return group.outcome.kind == Kind::killed_by_us; });
}

std::string ranks_text(const RankSet& ranks) {
  return shortened(ranks.text(), kMaxText);
}

// Returns the groups in lines such as "3 ranks exited with code 1: 4-6". Failures come first, and
// then the order is by lowest rank.
std::string summary_text(const JobOutcome& job) {
  std::vector<const JobOutcome::Group*> groups;
  for (const JobOutcome::Group& group : job.groups) {
    if (!group.ranks.empty()) groups.push_back(&group);
  }
  if (groups.size() < 2 && (groups.empty() || groups.front()->ranks.size() < 2)) return "";
  std::ranges::sort(groups, [](const auto* a, const auto* b) {
    if (a->outcome.failed() != b->outcome.failed()) return a->outcome.failed();
    return a->ranks.front() < b->ranks.front();
  });
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i + 1 == kMaxGroups && groups.size() > kMaxGroups) {
      RankSet rest;
      for (; i < groups.size(); ++i)
        rest.add(groups[i]->ranks);
      text += cat(kProgramName, "  ", counted(rest.size(), "rank"),
                  " otherwise: ", ranks_text(rest), "\n");
      break;
    }
    RankOutcome outcome = groups[i]->outcome;
    outcome.message.clear();  // of one rank; the cause line has it
    const std::uint64_t count = groups[i]->ranks.size();
    const bool nodes = outcome.kind == Kind::lost && count > 1;
    text += cat(kProgramName, "  ", counted(count, "rank"), ' ',
                nodes ? "lost with their nodes" : cause_text(outcome), ": ",
                ranks_text(groups[i]->ranks), "\n");
  }
  return text;
}

// Returns the status of the first failure. Once per host, a host that was never reached failed
// before every rank.
int first_status(const JobOutcome& job) {
  if (job.once_per_host && !job.missing.empty()) return kExitUnreachable;
  if (job.first && job.first->outcome.failed()) return exit_status(job.first->outcome);
  if (job.once_per_host) return largest_status(job);
  if (const JobOutcome::Group* group = lowest_failure(job)) return exit_status(group->outcome);
  // scela-run ended these ranks without a recorded cause, so success would be wrong.
  return was_ended_early(job) ? kExitInternal : kExitSuccess;
}

int largest_of_ranks(const JobOutcome& job) {
  int largest = first_status(job);
  for (const JobOutcome::Group& group : job.groups)
    if (!group.ranks.empty()) largest = std::max(largest, exit_status(group.outcome));
  return largest;
}

std::uint64_t failed_ranks(const JobOutcome& job) {
  std::uint64_t count = 0;
  for (const JobOutcome::Group& group : job.groups)
    if (group.outcome.failed()) count += group.ranks.size();
  return count > 0 || !was_ended_early(job) ? count : 1;
}

// Returns the first failure of a rank, or an empty text if there is none. If the number of failures
// is the exit status, it is told too.
std::string cause_of_ranks(const JobOutcome& job) {
  std::string cause;
  if (job.first && job.first->outcome.failed()) {
    cause =
        cat("rank ", job.first->rank, " on ", job.first->host, " (", printable(job.first->program),
            ") ", cause_text(job.first->outcome), hint_text(job, job.first->outcome));
  } else if (const JobOutcome::Group* group = lowest_failure(job)) {
    cause = cat("rank ", group->ranks.front(), ' ', cause_text(group->outcome),
                hint_text(job, group->outcome));
  } else if (was_ended_early(job)) {
    return "the job was ended, but no cause was recorded";
  }
  if (cause.empty() || job.rule != StatusRule::count) return cause;
  return cat(cause, " (", counted(failed_ranks(job), "rank"), " failed)");
}

std::string time_text(std::chrono::milliseconds time) {
  const auto ms = time.count();
  if (ms % 1000 == 0) return cat(ms / 1000, " s");
  return cat(ms, " ms");
}

}  // namespace

int exit_status(const RankOutcome& outcome) {
  switch (outcome.kind) {
    case Kind::exited:
      return outcome.code & 0xff;
    case Kind::signaled:
      return kExitSignal + outcome.signal;
    case Kind::unfinalized:
      return kExitUnclean;
    // If the system would reduce the code to 0, it still was an abort.
    case Kind::aborted:
      return (outcome.code & 0xff) == 0 ? kExitUnclean : outcome.code & 0xff;
    case Kind::broke_protocol:
      return kExitUnclean;
    case Kind::not_found:
      return kExitNotFound;
    case Kind::not_executable:
      return kExitNotExecutable;
    case Kind::not_started:
      return kExitLaunch;
    case Kind::lost:
      return kExitUnreachable;
    case Kind::timed_out:
      return kExitTimeout;
    case Kind::killed_by_us:
      return kExitSuccess;
  }
  return kExitInternal;
}

std::string cause_of_end(const JobOutcome& job) {
  const std::string given_up =
      job.given_up_while.empty()
          ? ""
          : cat(" while ", printable(job.given_up_while, kMaxOwnText), "; the start was given up");
  if (job.interrupted) {
    return cat("interrupted by signal ", *job.interrupted, " (", signal_text(*job.interrupted), ")",
               given_up.empty() ? "; the job was ended" : given_up);
  }
  if (job.timed_out) {
    return cat("the job reached its time limit of ", time_text(*job.timed_out), " (--timeout)",
               given_up.empty() ? " and was ended" : given_up);
  }
  if (job.error) return printable(job.error->text());
  if (job.once_per_host) return "";
  return cause_of_ranks(job);
}

std::string hint_text(const JobOutcome& job, const RankOutcome& outcome) {
  const bool is_meant = outcome.kind == Kind::not_found && !job.not_found_hint.empty();
  return is_meant ? cat(" (", printable(job.not_found_hint), ")") : "";
}

// Messages come from ranks and nodes, so they must be one line without escape sequences.
std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t length = utf8_length(rest);
    if (out.size() + std::max<std::size_t>(length, 1) > most) break;
    if (rest.front() == '\n' || rest.front() == '\t' || rest.front() == '\r') {
      out += ' ';
    } else if (length == 0 || is_obeyed(character(rest.substr(0, length)))) {
      out += '?';
    } else {
      out += rest.substr(0, length);
    }
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
  if (!rest.empty()) out += "...";
  return out;
}

std::string folded(const std::vector<std::string>& names) {
  if (const auto set = NodeSet::from_names(names)) return set->fold();
  std::string text;
  for (const std::string& name : names)
    text += cat(text.empty() ? "" : ",", name);
  return text;
}

std::span<const ExitRow> exit_table() {
  return kExitTable;
}

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return kExitUsage;
    case ErrorKind::protocol:
      return kExitInternal;
    case ErrorKind::launch:
      return kExitLaunch;
    case ErrorKind::unreachable:
      return kExitUnreachable;
    case ErrorKind::io:
      return kExitOutput;
    case ErrorKind::internal:
      return kExitInternal;
  }
  return kExitInternal;
}

RankOutcome RankOutcome::exec_failed(int error_number) {
  RankOutcome outcome;
  outcome.message = errno_text(error_number);
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      outcome.kind = Kind::not_found;
      break;
    case EACCES:
    case EPERM:
    case EISDIR:
    case ENOEXEC:
    case ELOOP:
      outcome.kind = Kind::not_executable;
      break;
    default:
      outcome.kind = Kind::not_started;
      break;
  }
  return outcome;
}

void JobOutcome::add(const RankSet& ranks, const RankOutcome& outcome) {
  for (Group& group : groups) {
    if (!is_same_but_for_message(group.outcome, outcome)) continue;
    if (!ranks.empty() && (group.ranks.empty() || ranks.front() < group.ranks.front())) {
      group.outcome.message = outcome.message;
    }
    group.ranks.add(ranks);
    return;
  }
  groups.push_back({outcome, ranks});
}

int exit_status(const JobOutcome& job) {
  if (job.interrupted) return kExitSignal + *job.interrupted;
  if (job.timed_out) return kExitTimeout;
  if (job.error) return exit_status(job.error->kind);
  switch (job.rule) {
    case StatusRule::automatic:
      return job.once_per_host ? largest_status(job) : first_status(job);
    case StatusRule::first:
      return first_status(job);
    case StatusRule::largest:
      return job.once_per_host ? largest_status(job) : largest_of_ranks(job);
    case StatusRule::count:
      return static_cast<int>(std::min<std::uint64_t>(
          kMaxCount, job.once_per_host ? failed_hosts(job) : failed_ranks(job)));
    case StatusRule::ignore:
      return kExitSuccess;
  }
  return kExitInternal;
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* description = sigdescr_np(signal);
  if (name == nullptr || description == nullptr) return cat("signal ", signal);
  return cat("SIG", name, ", ", description);
}

std::string cause_text(const RankOutcome& outcome) {
  switch (outcome.kind) {
    case Kind::exited:
      return cat("exited with code ", outcome.code);
    case Kind::signaled:
      return cat("killed by signal ", outcome.signal, " (", signal_text(outcome.signal), "), ",
                 outcome.core_dumped ? "core dumped" : "no core dumped");
    case Kind::unfinalized:
      return with_message("ended without finalizing", outcome.message);
    case Kind::aborted:
      return with_message(cat("aborted the job with code ", outcome.code), outcome.message);
    case Kind::broke_protocol:
      return with_message("broke the PMI protocol", outcome.message);
    case Kind::not_found:
      return with_message("not started, program not found", outcome.message);
    case Kind::not_executable:
      return with_message("not started, program cannot be executed", outcome.message);
    case Kind::not_started:
      return with_message("not started", outcome.message);
    case Kind::lost:
      return with_message("lost with its node", outcome.message);
    case Kind::timed_out:
      return "reached the time limit of its host (--host-timeout)";
    case Kind::killed_by_us:
      return "ended with the job";
  }
  return "ended in an unknown way";
}

std::string verdict_text(const JobOutcome& job) {
  if (job.once_per_host) return hosts_verdict_text(job);
  const std::string cause = cause_of_end(job);
  // If the user asked for fewer than all hosts, the verdict names the hosts that are missing.
  if (cause.empty()) return missing_text(job.missing);
  std::string text = summary_text(job) + missing_text(job.missing);
  if (!job.failed_nodes.empty()) {
    text += cat(kProgramName, "  failed nodes: ", folded(job.failed_nodes), "\n");
  }
  return text + cat(kProgramName, cause, "\n");
}

}  // namespace scela
