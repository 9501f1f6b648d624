// The arguments that the driver (scela-perf) passes to each process of a contest. They are the
// benchmark, sizes, rounds, seconds of a round, window, placement of ranks, pattern, delay and the
// driver's process. For collective operations they are the operations, algorithm, executor, how
// many run at once, and how often they are advanced.
//
// Each rank calls these functions from one thread. The file uses only the standard library and
// Linux, because the peers are compiled with it too.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "perf/job_processes.h"
#include "perf/timed_loops.h"

namespace scela::perf {

// The placement of ranks: anywhere ("free"); each on a processor of its own ("pin"); or all of them
// on the first processor ("apart"). With "apart" the threads, engines and agents that move their
// messages are on the second.
enum class RankBinding { free, own, apart };

// Reads numbers separated by commas, and appends them; "-" is an empty list. Returns false if the
// text is something else.
inline bool read_numbers(const char* text, std::vector<std::size_t>& numbers) {
  if (std::string(text) == "-") return true;
  for (const char* at = text; *at != '\0';) {
    char* end = nullptr;
    numbers.push_back(std::strtoull(at, &end, 10));
    if (end == at) return false;
    at = *end == ',' ? end + 1 : end;
  }
  return true;
}

// Reads argv of a rank: "--rank BENCH SIZE,SIZE... ROUNDS SECONDS WINDOW WHERE PATTERN DELAY DRIVER
// OP,OP... ALGORITHM EXECUTOR CONCURRENT BYTES,BYTES..." into `plan` and `where`. `how` is the
// first word; "-" is an empty value. Returns false if the words have another form, or if a number
// is not allowed.
inline bool read_words(int count, char** words, Plan& plan, RankBinding& where,
                       const char* how = "--rank") {
  if (count != 16 || std::string(words[1]) != how) return false;
  plan.bench = words[2];
  if (!read_numbers(words[3], plan.sizes) || !read_numbers(words[15], plan.progress)) return false;
  plan.rounds = std::atoi(words[4]);
  plan.round_seconds = std::atof(words[5]);
  plan.window = std::atoi(words[6]);
  const std::string place = words[7];
  plan.apart = place == "apart";
  where = place == "pin"     ? RankBinding::own
          : place == "apart" ? RankBinding::apart
                             : RankBinding::free;
  plan.pattern = words[8];
  plan.delay_seconds = std::atof(words[9]);
  plan.driver = std::atol(words[10]);
  const std::string ops = words[11];
  for (std::size_t at = 0; ops != "-" && at <= ops.size();) {
    const std::size_t end = std::min(ops.find(',', at), ops.size());
    plan.ops.push_back(ops.substr(at, end - at));
    at = end + 1;
  }
  plan.algorithm = std::string(words[12]) == "-" ? "" : words[12];
  plan.executor = words[13];
  plan.concurrent = std::atoi(words[14]);
  return plan.rounds > 0 && plan.window > 0 && !plan.sizes.empty() && plan.concurrent > 0;
}

// Returns the numbers of the processors that this thread may run on, ascending.
inline std::vector<int> allowed_processors() {
  std::vector<int> found;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) found.push_back(cpu);
  return found;
}

// Binds a thread to processor `cpu`; `thread` is its id, and 0 is the caller. If the thread has
// ended, the call has no effect.
inline void bind_to(int cpu, long thread) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(static_cast<pid_t>(thread), sizeof one, &one);
}

// Binds the threads of this rank to their processors, and for Where::apart those of the helpers
// too. All ranks call it once their threads and their helpers have started. Returns false if there
// are not enough processors.
template <class Peer>
bool bind_threads(Peer& peer, const Plan& plan, RankBinding where) {
  if (where == RankBinding::free) return true;
  const std::vector<int> allowed = allowed_processors();
  if (where == RankBinding::own) {
    // The ranks of a node take the processors in turn.
    if (!allowed.empty())
      bind_to(allowed[static_cast<std::size_t>(peer.local_rank()) % allowed.size()], 0);
    return true;
  }
  if (allowed.size() < 2) return false;
  const long self = static_cast<long>(::getpid());
  for (const long thread : threads_of(self))
    bind_to(allowed[thread == self ? 0 : 1], thread);
  const std::vector<long> ranks = gather_at_0(peer, self);
  if (peer.rank() == 0)
    for (const long process : descendants(plan.driver))
      if (std::find(ranks.begin(), ranks.end(), process) == ranks.end())
        for (const long thread : threads_of(process))
          bind_to(allowed[1], thread);
  barrier(peer);
  return true;
}

}  // namespace scela::perf
