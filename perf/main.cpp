// scela-perf measures the channel beside MPIs. If a user starts it, it starts the contestants'
// jobs. If those start it as a rank (--rank ...), it is the channel's contestant. If a user starts
// it as a rank, it measures the job that it belongs to.
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "perf/channel_peer.h"
#include "perf/choices.h"
#include "perf/connection_counts.h"
#include "perf/contest.h"
#include "perf/copy_peer.h"
#include "perf/in_job.h"
#include "perf/programs.h"
#include "perf/rank_words.h"

namespace scela::perf {

namespace {

int be_rank(const Plan& plan, RankBinding where) {
  ChannelOptions wanted;
  if (plan.bench == "coll" && plan.executor == "thread") wanted.threads = Threads::multiple;
  const Channel::Opened opened = Channel::open(wanted);
  if (!opened.channel) {
    std::fprintf(stderr, "scela-perf: %s\n", opened.status.message().c_str());
    return 1;
  }
  ChannelPeer peer(*opened.channel, plan);
  if (!bind_threads(peer, plan, where)) {
    std::fprintf(stderr, "scela-perf: --apart needs two processors\n");
    return 3;
  }
  const bool by_adapter = peer.nodes() > 1 || (plan.bench == "coll" && plan.executor == "engine");
  return Loops<ChannelPeer>(peer, plan).run(by_adapter ? "verbs" : "shm") ? 0 : 2;
}

int be_copy(const Plan& plan, RankBinding where) {
  CopyPeer peer(plan.window);
  bind_threads(peer, plan, where);
  return Loops<CopyPeer>(peer, plan).run("process_vm_readv") ? 0 : 2;
}

// A signal ends the process as if it had not been passed on.
int measure(const Options& options, const std::string& self) {
  pass_signals_on();
  const auto report = run_contest(options, self);
  if (const int signal = received_signal()) {
    std::signal(signal, SIG_DFL);
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    ::raise(signal);
  }
  if (!report) {
    std::fprintf(stderr, "scela-perf: %s\n", report.error().text().c_str());
    return 1;
  }
  std::vector<Row> rows = report->rows();
  if (options.bench == "coll")
    if (auto done = count_lists(options, rows); !done) {
      std::fprintf(stderr, "scela-perf: %s\n", done.error().text().c_str());
      return 1;
    }
  std::fputs(report_text(rows, options.json).c_str(), stdout);
  return 0;
}

int tell(const Result<std::string>& text) {
  if (!text) {
    std::fprintf(stderr, "scela-perf: %s\n", text.error().text().c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

int run(int argc, char** argv) {
  Plan plan;
  RankBinding where = RankBinding::free;
  if (read_words(argc, argv, plan, where)) return be_rank(plan, where);
  if (read_words(argc, argv, plan, where, "--copy")) return be_copy(plan, where);
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto options = parse_options(words);
  if (!options) {
    std::fprintf(stderr, "scela-perf: %s\n", options.error().text().c_str());
    return 2;
  }
  switch (options->action) {
    case Options::Action::help:
      std::fputs(help_text().c_str(), stdout);
      return 0;
    case Options::Action::version:
      std::puts("scela-perf " SCELA_VERSION);
      return 0;
    case Options::Action::explain:
      return tell(choices_text(*options));
    case Options::Action::census:
      return tell(counted(*options));
    case Options::Action::measure:
      break;
  }
  if (is_in_job()) return measure_in_job(*options);
  std::error_code ignored;
  return measure(*options, std::filesystem::read_symlink("/proc/self/exe", ignored).string());
}

}  // namespace

}  // namespace scela::perf

int main(int argc, char** argv) {
  return scela::perf::run(argc, argv);
}
