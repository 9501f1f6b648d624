// sim_run: plays simulated jobs from seeds or files and says which broke an invariant, and how to
// see it again. See docs/design/simulator.md.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "nla/core/record/record.h"
#include "tests/sim/generator/generate.h"
#include "tests/sim/generator/shrink.h"
#include "tests/sim/world/fault_counts.h"
#include "tests/sim/world/world.h"

namespace {

using namespace scela;
using namespace scela::sim;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t schedules = 0;
  Limits limits;
  std::uint64_t twice_every = 8;
  bool shrink = false;
  bool print = false;
  bool trace = false;
  bool faulty = false;  // seeds without a fault are passed over, and not counted
  std::uint64_t max_failures = 3;
  std::vector<std::string> files;
};

struct Totals {
  std::uint64_t schedules = 0;
  std::uint64_t failures = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t ranks = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t max_held = 0;
  FaultCounts faults;
};

int usage() {
  std::cerr << "usage: sim_run [--seed N | --first N --schedules N | --soak N] [--agents MAX]\n"
               "               [--exact-agents N] [--faulty] [--shrink] [--print] [--failures N] "
               "[FILE...]\n"
               "  --seed N        play one seed\n"
               "  --schedules N   play N seeds, every 8th twice\n"
               "  --soak N        play N seeds, each twice\n"
               "  --agents MAX    hosts of a schedule, at most (200)\n"
               "  --exact-agents N  hosts of every schedule, with a program linear in ranks\n"
               "  --faulty        pass over seeds without a fault; count the kinds of faults\n"
               "  --shrink        cut a failing schedule down before it is printed\n"
               "  --print         print schedules whether they fail or not\n"
               "  --trace         print what every agent is told and answers\n"
               "  --failures N    give up after so many failures (3)\n"
               "  FILE            play a schedule as printed by this program\n";
  return 2;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--shrink") {
      options.shrink = true;
    } else if (word == "--print") {
      options.print = true;
    } else if (word == "--trace") {
      options.trace = true;
    } else if (word == "--faulty") {
      options.faulty = true;
    } else if (word.rfind("--", 0) != 0) {
      options.files.push_back(word);
    } else {
      if (++i == argc) return false;
      char* end = nullptr;
      const std::uint64_t number = std::strtoull(argv[i], &end, 10);
      if (*end != '\0') return false;
      if (word == "--seed") {
        options.first = number;
        options.schedules = 1;
      } else if (word == "--first") {
        options.first = number;
      } else if (word == "--schedules") {
        options.schedules = number;
      } else if (word == "--soak") {
        options.schedules = number;
        options.twice_every = 1;
      } else if (word == "--agents") {
        options.limits.max_hosts = static_cast<std::uint32_t>(number);
      } else if (word == "--exact-agents") {
        options.limits.exact_hosts = static_cast<std::uint32_t>(number);
      } else if (word == "--failures") {
        options.max_failures = number;
      } else {
        return false;
      }
    }
  }
  return options.schedules > 0 || !options.files.empty();
}

// The kind of a failure: its text without times and numbers.
std::string kind_of(const std::string& failure) {
  std::string kind;
  const std::size_t start = failure.find(": ");
  for (const char c : failure.substr(start == std::string::npos ? 0 : start)) {
    if (c < '0' || c > '9') kind += c;
  }
  return kind.substr(0, 60);
}

void report(const Schedule& schedule, const RunResult& result, const Options& options) {
  std::cout << "FAILED seed " << schedule.seed << ": " << result.failure << "\n"
            << "  replay: sim_run --seed " << schedule.seed << " --agents "
            << options.limits.max_hosts;
  if (options.limits.exact_hosts > 0) std::cout << " --exact-agents " << options.limits.exact_hosts;
  std::cout << (options.shrink ? "" : " --shrink") << "\n";
  if (!options.shrink) return;
  const std::string kind = kind_of(result.failure);
  const Schedule small = shrink(schedule, [&](const Schedule& candidate) {
    return kind_of(play(candidate).failure) == kind;
  });
  std::cout << "# " << play(small).failure << "\n" << to_text(small) << std::flush;
}

void print_step(std::uint32_t index, const nla::Event& event, const nla::Actions& actions) {
  std::cout << "agent " << index << ": " << nla::name_of(event);
  if (const auto* received = std::get_if<nla::event::Received>(&event)) {
    std::cout << "(" << received->link << ", " << nla::name_of(received->message) << ")";
  }
  std::cout << " ->";
  for (const nla::Action& action : actions) {
    std::cout << " " << nla::name_of(action);
    if (const auto* send = std::get_if<nla::action::Send>(&action)) {
      std::cout << "(" << send->link << ", " << nla::name_of(send->message) << ")";
    }
  }
  std::cout << "\n";
}

void one(const Schedule& schedule, const std::string& name, const Options& options,
         Totals& totals) {
  const bool twice = totals.schedules++ % options.twice_every == 0;
  if (options.print) std::cout << "# " << name << "\n" << to_text(schedule);
  if (options.trace) World(schedule, {{}, print_step}).run();
  const RunResult result = play(schedule, twice);
  totals.events += result.events;
  totals.messages += result.messages;
  totals.ranks += result.ranks;
  totals.timed_out += result.timed_out ? 1 : 0;
  totals.max_held = std::max(totals.max_held, result.max_held);
  if (result.ok()) return;
  ++totals.failures;
  if (schedule.seed == 0) std::cout << name << ": ";
  report(schedule, result, options);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) return usage();
  Totals totals;
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& file : options.files) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    auto schedule =
        in ? parse_schedule(text.str())
           : fail({ErrorKind::usage, "read the schedule " + file, "", "cannot open it", ""});
    if (!schedule) {
      std::cerr << schedule.error().text() << "\n";
      return 2;
    }
    one(*schedule, file, options, totals);
  }
  for (std::uint64_t seed = options.first, played = 0; played < options.schedules; ++seed) {
    const Schedule schedule = make_schedule(seed, options.limits);
    if (options.faulty && schedule.peaceful()) continue;
    ++played;
    totals.faults.add(schedule);
    one(schedule, "seed " + std::to_string(seed), options, totals);
    if (totals.failures >= options.max_failures) break;
  }
  if (options.faulty) std::cout << totals.faults.text() << std::flush;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf(
      "%llu schedules, %llu failed; %llu events, %llu messages, %llu ranks started, "
      "%llu ended by the time limit with a reason, at most %llu bytes held; %.1f s\n",
      static_cast<unsigned long long>(totals.schedules),
      static_cast<unsigned long long>(totals.failures),
      static_cast<unsigned long long>(totals.events),
      static_cast<unsigned long long>(totals.messages),
      static_cast<unsigned long long>(totals.ranks),
      static_cast<unsigned long long>(totals.timed_out),
      static_cast<unsigned long long>(totals.max_held), seconds.count());
  return totals.failures > 0 ? 1 : 0;
}
