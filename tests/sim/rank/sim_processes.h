// The processes of the ranks: where each runs, how far its life is, and how it ended.
//
// A process is started and ended by tasks a little after it was ordered, and signals reach it in
// between. One thread uses this part.
#pragma once

#include <optional>
#include <vector>

#include "nla/core/tree/events.h"
#include "tests/sim/node/per_node.h"
#include "tests/sim/sim_job_run.h"
#include "tests/sim/world/sim_network.h"

namespace scela::sim {

enum class Life : std::uint8_t {
  none,      // no agent was told to start it
  starting,  // its agent was told to start it
  running,   // it runs its program
  dying,     // it does nothing any more, and its agent has not heard of its end
  over,      // it has ended, or was not started
};

struct Process {
  std::uint32_t node = kNobody;
  Life life = Life::none;
  bool ran = false;
  bool cancelled = false;             // it was told to end before it began
  bool by_us = false;                 // ended by a signal that its agent ordered
  bool stepping = false;              // a rank_step is scheduled
  nla::Outcome fate;                  // how it really ended
  std::optional<nla::Outcome> abort;  // it asked for the end of the job
  std::int32_t signal_at_start = 0;
  bool alive() const {
    return life == Life::starting || life == Life::running || life == Life::dying;
  }
};

class Processes {
 public:
  explicit Processes(Run& run) : run_(run), processes_(run.schedule.all_ranks()) {}

  Process& operator[](Rank rank) { return processes_[rank]; }
  const Process& operator[](Rank rank) const { return processes_[rank]; }
  Rank size() const { return static_cast<Rank>(processes_.size()); }
  // Returns the ranks that the agent of this node was told to start.
  const std::vector<Rank>& of(std::uint32_t node) const { return of_node_[node]; }

  // The agent of this node is to start the rank.
  void start(std::uint32_t node, Rank rank);
  // The rank runs its next step soon, if it runs and no step is scheduled.
  void wake(Rank rank);
  // The rank does nothing from here on. Its agent hears of it a little later.
  void end(Rank rank, nla::Outcome fate);
  void signal(Rank rank, std::int32_t signo);
  void signal_all(std::uint32_t node, std::int32_t signo);

  bool any_alive(std::uint32_t node) const;
  // Returns true if some rank has asked for the end of the job.
  bool any_aborted() const;
  // Returns true if the pair of this get is put on the reader's own node.
  bool same_node(const Op& get) const;

 private:
  Run& run_;
  std::vector<Process> processes_;
  PerNode<std::vector<Rank>> of_node_;
};

}  // namespace scela::sim
