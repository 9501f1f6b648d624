// The output of the ranks: their pipes, what agents have read of them, and what was shown.
//
// An agent reads a pipe by the task pump, as far as its credit goes. The presenter shows a piece
// late. All bytes are checked where they are shown. One thread uses this part.
#pragma once

#include <array>
#include <vector>

#include "tests/sim/job/end_of_job.h"
#include "tests/sim/node/agents.h"
#include "tests/sim/node/leftovers.h"
#include "tests/sim/rank/sim_processes.h"

namespace scela::sim {

inline constexpr std::uint64_t kPipe = std::uint64_t{64} * 1024;  // what a pipe holds (pipe(7))

class Output {
 public:
  Output(Run& run, Nodes& nodes, Processes& processes, const Leftovers& leftovers, Agents& agents,
         const EndOfJob& end)
      : run_(run),
        nodes_(nodes),
        processes_(processes),
        leftovers_(leftovers),
        agents_(agents),
        end_(end),
        ranks_(processes.size()) {}

  void on(std::uint32_t index, const nla::action::ReadOutput& action);
  void on(std::uint32_t index, const nla::action::DropStreams& action);
  void on(std::uint32_t index, const nla::action::ShowOutput& action);

  // The rank writes what a pipe has room for. Returns true if the step is done.
  bool write(Rank rank, const Op& op);
  // Something may be read from a pipe of this node.
  void want_pump(std::uint32_t index);
  // The task pump: reads one piece or one end of a pipe of this node, whichever comes first from a
  // random place on.
  void pump(std::uint32_t index);
  // The task shown: the presenter has shown so many bytes.
  void shown(std::uint64_t bytes);

  // Returns true if the agent was not given the end of some pipe of this rank.
  bool any_open(Rank rank) const;
  // Returns how many bytes all ranks have written.
  std::uint64_t written() const;
  // Fails if a stream was not shown completely and the way to the root was intact.
  void check_complete();

 private:
  struct Pipe {
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    std::uint64_t shown = 0;
    bool end_given = false;
    bool end_shown = false;
    bool dropped = false;
  };
  struct OfRank {
    std::array<Pipe, 2> pipes;
    std::uint64_t left = 0;  // to write in this step
  };
  struct OfNode {
    std::uint64_t credit = 0;
    bool pumping = false;  // a task pump is scheduled
  };

  bool pump_one(std::uint32_t index, Rank rank, std::size_t stream);
  // Returns true if something other than the rank itself holds its pipes, or the rank lives.
  bool held_open(Rank rank) const;

  Run& run_;
  Nodes& nodes_;
  Processes& processes_;
  const Leftovers& leftovers_;
  Agents& agents_;
  const EndOfJob& end_;
  std::vector<OfRank> ranks_;
  PerNode<OfNode> of_node_;
};

}  // namespace scela::sim
