// The simulated cluster: agents running nla/core, their nodes, ranks and links, under virtual time.
//
// run() plays one schedule and checks, while it plays and when nothing is left to happen, that
// every rank gets exactly one right verdict, that no rank outlives its job, that output and answers
// are what the serial model says, that nothing is held without bound, and that the job ends. The
// first broken invariant ends the run and is its result. Deterministic: everything is drawn from
// the schedule's delay_seed. Owns all agents; one World plays one schedule.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/core/random.h"
#include "nla/core/tree/agent.h"
#include "tests/sim/network.h"
#include "tests/sim/reference.h"
#include "tests/sim/schedule.h"
#include "tests/sim/tasks.h"

namespace scela::sim {

// A job that has not ended by itself is ended by event::Stop, and must have had a reason to hang.
inline constexpr Micros kTimeout = Micros{900} * 1'000'000;
// From the moment a job must end to the launcher's last action. An agent waits 5 s per level for
// children that do not end (nla/core), and a chain here is up to 24 agents long.
inline constexpr Micros kEndBound = Micros{300} * 1'000'000;
// A start that takes longer may be given up by an agent that must end; nothing else may.
inline constexpr Micros kPatience = 1'000'000;
// The most bytes that an agent may hold beside the payloads of operations in flight: output that
// waits for credit (1 MiB for all children, 256 KiB for its own ranks, nla/core) and the job while
// it arrives.
inline constexpr std::uint64_t kHeldBeside = std::uint64_t{2} * 1024 * 1024;

struct Hooks {
  // Called with what the agent of node `index` answered; may change it, to see an invariant fail.
  std::function<void(std::uint32_t index, const nla::Event&, nla::Actions&)> tamper;
  // Called after tamper.
  std::function<void(std::uint32_t index, const nla::Event&, const nla::Actions&)> observe;
};

struct RunResult {
  std::string failure;  // empty: every invariant held
  std::uint64_t hash = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t max_held = 0;  // bytes, any agent
  Micros ended_at = 0;         // the launcher's last action
  std::uint32_t ranks = 0;     // started
  bool timed_out = false;      // with a reason
  bool ok() const { return failure.empty(); }
};

class World {
 public:
  explicit World(const Schedule& schedule, Hooks hooks = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  RunResult run();

 private:
  struct Pipe {
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    std::uint64_t shown = 0;
    bool end_given = false;
    bool end_shown = false;
    bool dropped = false;
  };
  enum class Life : std::uint8_t { none, starting, running, dying, over };
  struct RankModel {
    std::uint32_t node = kNobody;
    Life life = Life::none;
    bool ran = false;
    bool told = false;  // its end was given to its agent
    bool cancelled = false;
    bool by_us = false;                 // ended by a signal that its agent ordered
    nla::Outcome fate;                  // how it really ended
    std::optional<nla::Outcome> abort;  // it asked for the end of the job
    std::int32_t signal_at_start = 0;
    std::size_t step = 0;
    nla::RequestId next_request = 1;
    nla::RequestId blocked_on = 0;
    bool joining = false;
    bool stepping = false;  // a rank_step is scheduled
    std::uint64_t output_left = 0;
    std::uint64_t input_read = 0;
    std::uint64_t input_progress = 0;  // within one op
    std::vector<std::pair<nla::RequestId, std::uint32_t>> due;
    std::vector<nla::RequestId> arriving;  // answered, not seen by the rank yet
    Pipe pipe[2];
    bool alive() const {
      return life == Life::starting || life == Life::running || life == Life::dying;
    }
  };
  struct TimerModel {
    bool armed = false;
    std::uint64_t generation = 0;
  };
  struct LeftoverModel {
    Leftover what;
    bool alive = true;
  };
  enum class State : std::uint8_t { running, frozen, dead, finished };
  struct Node {
    std::uint32_t host = kRootHost;
    std::uint32_t up = kNobody;           // link
    std::vector<std::uint32_t> past_ups;  // of parents that were lost
    bool awaiting = false;                // to be adopted
    bool orphaned = false;                // has been, at some time
    bool held = false;                    // an adopter has attached, and is not its parent yet
    State state = State::running;
    std::unique_ptr<nla::Agent> agent;
    std::vector<std::uint32_t> children;  // links, by LinkId - 1
    std::array<TimerModel, nla::kTimers> timers;
    bool disturbed = false;  // a fault hit it
    bool gone = false;
    bool has_job = false;
    bool signalled = false;  // its ranks were told to end
    bool empty_asked = false;
    bool empty_scheduled = false;
    bool pumping = false;
    bool taking = false;
    bool measured = false;
    RankSet failed;  // ranks that its own were told of
    RankSet own;
    RankSet to_start;         // of those, as its agent was told last
    std::size_t worlds = 0;   // that it has been told of
    std::vector<Rank> ranks;  // started here
    std::vector<LeftoverModel> leftovers;
    std::uint64_t output_credit = 0;
    std::uint64_t input = 0;  // bytes given to its targets
    bool input_end = false;
    std::uint64_t input_taken = 0;
  };

  // world.cpp: the loop
  void step(const Task& task);
  void step_rank(const Task& task);
  void step_launcher(const Task& task);
  void give(std::uint32_t index, const nla::Event& event);
  void note(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);
  void fail(const std::string& what);
  void begin();
  void decide();
  void plan_spawn();
  bool add_hosts(const nla::action::Spawn& action, std::uint32_t op);
  void deliver(std::uint32_t index, bool down);
  void start_agent(std::uint32_t index);
  void begin_start(std::uint32_t index);
  void attach(std::uint32_t index, Micros until);
  Micros turn_of(std::uint32_t host) const;
  std::string name(std::uint32_t node) const;
  Node& root() { return nodes_.front(); }

  // world_actions.cpp: what agents want done
  void act(std::uint32_t node, nla::Action& action);
  void on(std::uint32_t index, nla::action::Send& action);
  void on(std::uint32_t index, const nla::action::StartChild& action);
  void on(std::uint32_t index, const nla::action::CloseLink& action);
  void on(std::uint32_t index, const nla::action::StartRanks& action);
  void on(std::uint32_t index, const nla::action::UseJob& action);
  void on(std::uint32_t index, const nla::action::SignalRanks& action);
  void on(std::uint32_t index, const nla::action::EndLeftovers& action);
  void on(std::uint32_t index, const nla::action::SetTimer& action);
  void on(std::uint32_t index, const nla::action::CancelTimer& action);
  void on(std::uint32_t index, nla::action::Reply& action);
  void on(std::uint32_t index, const nla::action::ReadOutput& action);
  void on(std::uint32_t index, const nla::action::DropStreams& action);
  void on(std::uint32_t index, const nla::action::WriteStdin& action);
  void on(std::uint32_t index, const nla::action::Finishing& action);
  void on(std::uint32_t index, const nla::action::Finish& action);
  void on(std::uint32_t index, const nla::action::NodeFailed& action);
  void on(std::uint32_t index, const nla::action::AllReady& action);
  void on(std::uint32_t index, const nla::action::AllLaunched& action);
  void on(std::uint32_t index, const nla::action::ShowOutput& action);
  void on(std::uint32_t index, const nla::action::ShowLog& action);
  void on(std::uint32_t index, const nla::action::FirstFailure& action);
  void on(std::uint32_t node, const nla::action::ReadStdin& action);
  void on(std::uint32_t index, const nla::action::TracePiece& action);
  void on(std::uint32_t index, const nla::action::JobEnded& action);
  void on(std::uint32_t index, const nla::action::AwaitAdoption& action);
  void on(std::uint32_t index, const nla::action::ResizeTerminal& action);
  void on(std::uint32_t index, const nla::action::RanksFailed& action);
  void on(std::uint32_t index, const nla::action::NodesLost& action);
  void on(std::uint32_t index, const nla::action::Reconnected& action);
  void on(std::uint32_t index, const nla::action::AddWorld& action);
  void on(std::uint32_t index, const nla::action::EndRanks& action);
  void on(std::uint32_t index, const nla::action::Spawn& action);
  void on(std::uint32_t index, const nla::action::WorldLaunched& action);
  void on(std::uint32_t index, const nla::action::HostsAdded& action);

  // world_ranks.cpp: programs, pipes, signals
  void rank_start(Rank rank);
  void rank_step(Rank rank);
  bool run_op(Rank rank, std::uint32_t index);
  bool ask(Rank rank, std::uint32_t index);
  void rank_reply(Rank rank, nla::RequestId id);
  void rank_exit(Rank rank);
  void end_rank(Rank rank, nla::Outcome fate);
  void signal(Rank rank, std::int32_t signo);
  void wake(Rank rank);
  bool write_output(Rank rank, const Op& op);
  bool read_input(Rank rank, const Op& op);
  void pump(std::uint32_t index);
  bool pump_one(std::uint32_t index, Rank rank, int stream);
  void want_pump(std::uint32_t index);
  void stdin_taken(std::uint32_t index);
  void want_taken(std::uint32_t index);
  void stdin_more();
  void want_stdin();
  bool held_open(Rank rank) const;

  // world_faults.cpp: what goes wrong, and what guardians do about it
  void fault(const Fault& fault);
  void user(const Stimulus& stimulus);
  void window();
  void agent_dies(std::uint32_t index, bool silent);
  void power_off(std::uint32_t index);
  void reap(std::uint32_t index, bool force);
  void leftover_end(std::uint32_t index, std::uint32_t position);
  void check_empty(std::uint32_t index);
  void check_gone(std::uint32_t index);
  std::uint32_t agent_on(std::uint32_t host) const;
  void timeout();

  // world_checks.cpp: invariants
  bool severed(std::uint32_t node) const;
  bool lost_rank(Rank rank) const;
  bool needs_no_more() const;
  bool below(std::uint32_t node, std::uint32_t ancestor) const;
  std::vector<std::uint32_t> islands(Rank rank) const;
  bool apart(Rank one, Rank other) const { return islands(one) != islands(other); }
  bool excused(std::uint32_t index, Rank rank) const;
  bool may_fail(const RankSet& spawned) const;
  bool host_had_fault(std::uint32_t host) const;
  std::string judge(Rank rank, const nla::Outcome& outcome) const;
  void check_held(std::uint32_t index);
  void check_finish(std::uint32_t index);
  void check_stalled();
  RankSet legitimately_blocked() const;
  bool waits_for_lost_cause(Rank rank, std::uint32_t index, const RankSet& blocked) const;
  void check_verdicts(const nla::action::JobEnded& action);
  void check_peaceful(const nla::action::JobEnded& action);
  void check_quiet();
  void check_output_complete();
  void check_window();
  bool same_node(const Op& get) const;

  const Schedule schedule_;
  Hooks hooks_;
  Random random_;
  TaskQueue tasks_;
  Micros now_ = 0;
  Network network_;
  Reference reference_;
  std::deque<Node> nodes_;
  std::vector<RankModel> ranks_;
  RunResult result_;

  // The launcher's view.
  nla::Job job_;        // as it is by now
  nla::Job first_job_;  // as it was launched
  std::deque<nla::action::Spawn> spawns_asked_;
  std::uint32_t hosts_now_ = 0;                // with those that were added
  std::set<std::uint32_t> grown_;              // ops that had hosts added
  std::optional<nla::action::Spawn> growing_;  // waits for hosts
  Slice added_;                                // the last ones
  bool taken_ = false;  // the root has added the world that it was given last
  RankSet unspawned_;   // of worlds that failed: what was started of them is ended
  bool all_ready_ = false;
  bool launched_ = false;
  bool all_launched_ = false;
  bool stopped_ = false;  // event::Stop was given
  bool root_killed_ = false;
  Micros must_end_since_ = 0;            // when the end became inevitable
  std::optional<Rank> ends_for_;         // asked for it, if no other cause is known
  bool gave_up_ = false;                 // some agent ran out of patience
  std::set<std::int32_t> user_signals_;  // that were forwarded
  std::set<std::uint32_t> failed_hosts_;
  std::optional<std::pair<Rank, nla::Outcome>> first_failure_;
  std::map<Rank, nla::Outcome> verdicts_;
  bool job_ended_ = false;
  std::uint16_t windows_given_ = 0;
  std::uint16_t window_due_ = 0;    // the last one while the rank with a terminal ran
  std::uint16_t window_shown_ = 0;  // the last one that its node set
  std::uint64_t unshown_ = 0;       // with the presenter
  std::uint64_t input_credit_ = 0;
  std::uint64_t input_given_ = 0;
  bool input_ended_ = false;
  bool input_scheduled_ = false;
  std::map<std::uint32_t, int> traces_;
  std::set<std::uint32_t> cut_ops_;  // under way when an agent lost its parent
  std::uint64_t open_payload_ = 0;   // of operations in flight
  std::uint64_t kept_payload_ = 0;   // of puts
  std::uint64_t checks_ = 0;
};

// Plays it; with `twice`, a second time to see the same events.
RunResult play(const Schedule& schedule, bool twice = false);

}  // namespace scela::sim
