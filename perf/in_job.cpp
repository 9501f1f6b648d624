#include "perf/in_job.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "perf/channel_peer.h"
#include "perf/connection_counts.h"
#include "perf/core/report.h"
#include "perf/timed_loops.h"

namespace scela::perf {

namespace {

constexpr const char* kRankVariables[] = {"SCELA_RANK", "PMI_RANK", "PMIX_RANK"};

// Returns this process's rank, or "0" if the launcher does not say it.
std::string own_rank() {
  for (const char* const name : kRankVariables)
    if (const char* const rank = std::getenv(name)) return rank;
  return "0";
}

int refuse(const std::string& why, int status) {
  if (own_rank() == "0") std::fprintf(stderr, "scela-perf: %s\n", why.c_str());
  return status;
}

Plan plan_of(const Options& options) {
  Plan plan;
  plan.bench = options.bench;
  plan.sizes = options.sizes;
  plan.rounds = options.rounds;
  plan.round_seconds = options.round_seconds;
  plan.window = options.window;
  plan.delay_seconds = options.delay_ms / 1e3;
  plan.driver = ::getpid();
  plan.ops = options.ops;
  plan.algorithm = options.algorithm;
  plan.executor = options.executor;
  plan.concurrent = options.concurrent;
  plan.progress = options.progress;
  return plan;
}

// Redirects standard output to memory during its lifetime.
class Captured {
 public:
  Captured() : memory_(::memfd_create("scela-perf", MFD_CLOEXEC)) {
    std::fflush(stdout);
    if (!memory_) return;
    before_ = Fd(::dup(1));
    ::dup2(memory_.get(), 1);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() { give_back(); }
  std::string text() {
    give_back();
    return read_small_file(cat("/proc/self/fd/", memory_.get()).c_str());
  }

 private:
  void give_back() {
    std::fflush(stdout);
    if (before_) ::dup2(before_.get(), 1);
    before_ = Fd();
  }
  Fd memory_;
  Fd before_;
};

Result<void> add_lines(std::string_view text, Report& report) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with('{')) continue;
    auto sample = parse_sample(line);
    if (!sample) return fail(std::move(sample.error()));
    report.add("scela", std::move(*sample));
  }
  return {};
}

int show(const Options& options, const Report& report) {
  std::vector<Row> rows = report.rows();
  if (options.bench == "coll")
    if (auto done = count_lists(options, rows); !done) return refuse(done.error().text(), 1);
  std::fputs(report_text(rows, options.json).c_str(), stdout);
  return 0;
}

}  // namespace

bool is_in_job() {
  return std::ranges::any_of(kRankVariables,
                             [](const char* name) { return std::getenv(name) != nullptr; });
}

int measure_in_job(Options options) {
  if (!options.of_own_job.empty())
    return refuse(
        cat("option '", options.of_own_job,
            "': this is a rank of a job already, which is what is measured (leave it out, "
            "or start scela-perf without a launcher)"),
        2);
  if (options.bench == "memory")
    return refuse(
        "benchmark 'memory': it counts the processes of a job that scela-perf has started "
        "(start it without a launcher)",
        2);
  ChannelOptions wanted;
  if (options.bench == "coll" && options.executor == "thread") wanted.threads = Threads::multiple;
  const Channel::Opened opened = Channel::open(wanted);
  if (!opened.channel) {
    std::fprintf(stderr, "scela-perf: %s\n", opened.status.message().c_str());
    return 1;
  }
  const Plan plan = plan_of(options);
  ChannelPeer peer(*opened.channel, plan);
  options.ranks = peer.size();
  options.nodes = peer.nodes();
  if (options.ranks < 2) return refuse("the job has one rank, and messages need two or more", 2);
  const bool by_adapter = options.nodes > 1 || (plan.bench == "coll" && plan.executor == "engine");
  Captured captured;
  for (int turn = 0; turn < options.turns; ++turn)
    if (!Loops<ChannelPeer>(peer, plan).run(by_adapter ? "verbs" : "shm")) return 1;
  if (peer.rank() != 0) return 0;
  Report report;
  if (auto added = add_lines(captured.text(), report); !added)
    return refuse(added.error().text(), 1);
  return show(options, report);
}

}  // namespace scela::perf
