// The programs of the ranks: each rank runs the steps of the schedule, asks its agent, and waits
// for answers.
//
// This part begins and ends processes, and counts the payload of what they ask for. One thread uses
// it.
#pragma once

#include <utility>
#include <vector>

#include "tests/sim/job/excuses.h"
#include "tests/sim/node/agents.h"
#include "tests/sim/node/node_ends.h"
#include "tests/sim/rank/input.h"
#include "tests/sim/rank/output.h"

namespace scela::sim {

class Programs {
 public:
  Programs(Run& run, const Nodes& nodes, Processes& processes, Leftovers& leftovers,
           Reference& reference, EndOfJob& end, const Excuses& excuses, Agents& agents,
           Output& output, Input& input, NodeEnds& node_ends)
      : run_(run),
        nodes_(nodes),
        processes_(processes),
        leftovers_(leftovers),
        reference_(reference),
        end_(end),
        excuses_(excuses),
        agents_(agents),
        output_(output),
        input_(input),
        node_ends_(node_ends),
        programs_(processes.size()) {}

  void on(std::uint32_t index, nla::action::Reply& action);

  // The tasks rank_start, rank_step, rank_reply and rank_exit.
  void start(Rank rank);
  void step(Rank rank);
  void reply(Rank rank, nla::RequestId id);
  void exit(Rank rank);

  // A request that has not been answered, and its operation's position in Schedule::ops.
  using Due = std::pair<nla::RequestId, std::uint32_t>;
  const std::vector<Due>& due(Rank rank) const { return programs_[rank].due; }
  // Returns true if the rank waits for the answer to this request.
  bool waits_for(Rank rank, nla::RequestId id) const {
    return programs_[rank].joining || programs_[rank].blocked_on == id;
  }
  // Returns the rank's position in its program, as text.
  std::string where(Rank rank) const;

 private:
  struct Program {
    std::size_t step = 0;
    nla::RequestId next_request = 1;
    nla::RequestId blocked_on = 0;
    bool joining = false;  // it waits for all answers
    std::vector<Due> due;
    std::vector<nla::RequestId> arriving;  // answered, not seen by the rank yet
  };

  // These return true if the next step may follow.
  bool run_op(Rank rank, std::uint32_t index);
  bool ask(Rank rank, std::uint32_t index);
  // The rank asks for the end of the job, or breaks the protocol.
  void ask_for_end(Rank rank, const Op& op, nla::Request request);
  void count_payload(const Op& op, const nla::Request& request);

  Run& run_;
  const Nodes& nodes_;
  Processes& processes_;
  Leftovers& leftovers_;
  Reference& reference_;
  EndOfJob& end_;
  const Excuses& excuses_;
  Agents& agents_;
  Output& output_;
  Input& input_;
  NodeEnds& node_ends_;
  std::vector<Program> programs_;
};

}  // namespace scela::sim
