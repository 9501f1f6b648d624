// Who is where, and the few words that processes exchange before they can send messages: by the
// launcher that has started them.
//
//   auto joined = Bootstrap::join();
//   Bootstrap& job = **joined;
//   job.put("card", bytes); job.fence(); auto theirs = job.get(3, "card");
//
// Under scela-run, mpiexec.hydra, srun and mpirun alike: PMI-1, PMI-2 or PMIx, whichever the
// environment speaks of; without a launcher a process is alone. Calls block. One thread at a time
// calls; abort() may be called by any.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::channel {

class Space;

struct World {
  int rank = 0;
  int size = 1;
  std::string job;           // what the launcher calls it; another one's name differs
  std::vector<int> node_of;  // of each rank; nodes are numbered from 0 in the order of their first
                             // ranks, without gaps
  int nodes = 1;

  int node() const { return node_of[static_cast<std::size_t>(rank)]; }
  std::vector<int> ranks_of(int node) const;  // ascending
  int local_rank() const;                     // among the ranks of its node
  int local_size() const;
};

// Of any numbers of nodes, equal where ranks share one: those of World::node_of.
std::vector<int> numbered_by_first_ranks(const std::vector<std::string>& names);

class Bootstrap {
 public:
  // Blocks until the launcher answers. SCELA_BOOTSTRAP, in the environment, says which kind it must
  // be: pmi1, pmi2, pmix, alone; empty or auto: by what the launcher has put into the environment.
  // A process can join once: launchers speak with one party of each.
  static Result<std::unique_ptr<Bootstrap>> join();
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;
  ~Bootstrap();  // leaves, if it has not been done

  const World& world() const { return world_; }
  std::string describe() const;  // "PMI-1 by PMI_FD 5, job x": for people

  // Any bytes, at most kMaxValue, under a key of at most kMaxKey letters, digits, '.' and '_' that
  // was not used before.
  Result<void> put(std::string_view key, std::string_view bytes);
  // When it returns, all ranks have called it, and what they put before can be got.
  Result<void> fence();
  Result<std::string> get(int rank, std::string_view key);
  // Puts, fences, gets: what each rank gives, by rank. All ranks must call it equally often.
  Result<std::vector<std::string>> exchange(std::string_view bytes);

  // Whether the launcher says that the rank has failed: a look at memory under scela-run and where
  // PMIx events tell; where scela-run shares none, a question to it a few times a second. Always
  // false under launchers that do not tell.
  bool has_failed(int rank);
  // Whether it has ended or taken leave, also well, as far as the launcher knows by now: who wants
  // to know asks again. scela-run (PMI) tells; elsewhere always false. A question to the launcher.
  bool has_left(int rank);

  // Ends this process, and the job as far as the launcher can.
  [[noreturn]] void abort(int code, std::string_view text);
  // The last words to the launcher: who ends without them has failed. Nothing can be called then.
  Result<void> leave();

  static constexpr std::size_t kMaxKey = 24;
  static constexpr std::size_t kMaxValue = std::size_t{64} * 1024;

 private:
  explicit Bootstrap(std::unique_ptr<Space> space);
  Result<void> find_nodes();
  Error during(std::string_view what, Error error) const;

  std::unique_ptr<Space> space_;  // none: has left
  std::string described_;
  World world_;
  int exchanges_ = 0;
};

}  // namespace scela::channel
