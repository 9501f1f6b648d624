// Asks the launcher that has started a process for its rank, and on which node each rank is. It
// also exchanges the few values that processes need before they can send messages. The channel uses
// it when it opens.
//
//   auto joined = Bootstrap::join();
//   Bootstrap& job = **joined;
//   job.put("card", bytes); job.fence(); auto theirs = job.get(3, "card");
//
// It works under scela-run, mpiexec.hydra, srun and mpirun alike, by PMI-1, PMI-2 or PMIx as the
// environment says. Without a launcher a process is alone. Calls block. Only one thread at a time
// may call; any thread may call abort().
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::channel {

class Space;

// The job as one of its ranks sees it. Ranks and nodes are numbered from 0.
struct World {
  int rank = 0;              // of this process
  int size = 1;              // ranks of the job
  std::string job;           // the launcher's name; unique per job
  std::vector<int> node_of;  // by rank, as numbered_by_first_ranks()
  int nodes = 1;             // number of nodes

  // Returns the node of this process.
  int node() const { return node_of[static_cast<std::size_t>(rank)]; }
  std::vector<int> ranks_of(int node) const;  // ascending
  int local_rank() const;                     // among the ranks of its node
  int local_size() const;
};

// Converts names of nodes, one for each rank and equal if ranks share a node, to World::node_of.
// Nodes are numbered from 0 in the order of their first ranks, without gaps.
std::vector<int> numbered_by_first_ranks(const std::vector<std::string>& names);

class Bootstrap {
 public:
  // Blocks until the launcher answers. SCELA_BOOTSTRAP in the environment says which kind it must
  // be: pmi1, pmi2, pmix, alone. If it is empty or auto, the launcher's variables decide. A process
  // can join once, since launchers talk to one party in each process.
  static Result<std::unique_ptr<Bootstrap>> join();
  // Returns an error if SCELA_BOOTSTRAP names no kind.
  static Result<void> check_variable();
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;
  ~Bootstrap();  // leaves, if leave() was not called

  const World& world() const { return world_; }
  std::string describe() const;  // "PMI-1 by PMI_FD 5, job x"

  // Puts any bytes, at most kMaxValue, under a key that was not used before. The key has at most
  // kMaxKey letters, digits, '.' and '_'.
  Result<void> put(std::string_view key, std::string_view bytes);
  // Blocks until all ranks have called it. What they put before can then be got.
  Result<void> fence();
  // Returns what a rank has put before the last fence. It may block, and returns an error if there
  // is no such value.
  Result<std::string> get(int rank, std::string_view key);
  // Puts the bytes, fences, and gets those of all ranks. Returns them by rank. It blocks until all
  // ranks have called it; all must call it equally often.
  Result<std::vector<std::string>> exchange(std::string_view bytes);

  // Returns whether the launcher says that the rank has failed. This reads memory under scela-run
  // and if PMIx events tell. If scela-run shares no memory, it asks the launcher a few times a
  // second. It is always false under launchers that do not tell.
  bool has_failed(int rank);
  // Returns whether the rank has ended or left, also well, as far as the launcher knows by now. A
  // caller that waits for it asks again. Only scela-run tells; otherwise it is false. Each call
  // asks the launcher.
  bool has_left(int rank);

  // Ends this process, and the job if the launcher can do so.
  [[noreturn]] void abort(int code, std::string_view text);
  // Tells the launcher that this process leaves: a process that ends without this has failed. No
  // other function may be called afterwards.
  Result<void> leave();

  static constexpr std::size_t kMaxKey = 24;
  static constexpr std::size_t kMaxValue = std::size_t{64} * 1024;

 private:
  explicit Bootstrap(std::unique_ptr<Space> space);
  // Fills World::node_of from what the launcher says, or by an exchange of names.
  Result<void> find_nodes();
  // Returns the error with the rank, what was tried and the launcher in front.
  Error during(std::string_view what, Error error) const;

  std::unique_ptr<Space> space_;  // null: has left
  std::string described_;
  World world_;
  int exchanges_ = 0;  // makes the keys of exchange()
};

}  // namespace scela::channel
