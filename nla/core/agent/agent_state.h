// The inside of an Agent: its parts and the handlers of events and messages. Private to agent*.cpp.
// One thread at a time uses it, as Agent says.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "nla/core/io/streams.h"
#include "nla/core/kvs/attributes.h"
#include "nla/core/kvs/bulletin.h"
#include "nla/core/kvs/collectives.h"
#include "nla/core/kvs/mailbox.h"
#include "nla/core/kvs/names.h"
#include "nla/core/kvs/spawns.h"
#include "nla/core/tree/agent.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/lifecycle.h"
#include "nla/core/tree/verdicts.h"
#include "nla/core/wire/topologies.h"

namespace scela::nla {

// Bytes of output that the presenter at the root may hold at once, while a terminal or a disk is
// behind.
inline constexpr std::uint64_t kPresenterWindow = std::uint64_t{1024} * 1024;
// event::RankNotStarted carries this value of ECANCELED.
inline constexpr std::int32_t kCancelled = 125;

struct Agent::State {
  State(Role role, cache::PolicyMaker maker);

  // Handlers of events (agent.cpp).
  void on(const event::Begin& event);
  void on(const event::Launch& event);
  void on(const event::Received& event);
  void on(const event::LinkEnded& event);
  void on(const event::ChildFailed& event);
  void on(const event::ChildBegun& event);
  void on(const event::ChildGone& event);
  void on(const event::RankStarted& event);
  void on(const event::RankNotStarted& event);
  void on(const event::RanksRefused& event);
  void on(const event::RankExited& event);
  void on(const event::RankOutput& event);
  void on(const event::RankStreamEnded& event);
  void on(const event::NodeEmpty& event);
  void on(const event::TimerFired& event);
  void on(const event::Asked& event);
  void on(const event::GuardianLost& event);
  void on(const event::StdinTaken& event);
  void on(const event::StdinClosed& event);
  void on(const event::PairUsed& event);
  void on(const event::SendTrace& event);
  void on(const event::Say& event);
  // Shows a log record to the user. The root shows it, and another agent passes it to its parent.
  void tell(msg::Log said);
  void on(const event::Measured& event);
  void on(const event::UserSignal& event);
  void on(const event::Stop& event);
  void on(const event::StdinRead& event);
  void on(const event::OutputWritten& event);
  void on(const event::WindowChanged& event);
  void on(const event::Planned& event);
  void on(const event::AddHosts& event);

  // Handlers of messages: first those from the parent, then those from a child
  // (agent_messages.cpp). They return false if the message breaks the protocol.
  bool from_parent(const Message& message);
  bool from_child(Child& child, const Message& message);
  bool down(const msg::Start& message);
  bool down(const msg::SliceHosts& message);
  bool down(const msg::JobBytes& message);
  bool down(const msg::CollectiveDown& message);
  bool down(const msg::WorldBytes& message);
  bool down(const msg::EndRanks& message);
  bool up(Child& child, const msg::Hello& message);
  bool up(Child& child, const msg::Ready& message);
  bool up(Child& child, const msg::Verdicts& message);
  bool up(Child& child, const msg::Report& message);
  bool up(Child& child, const msg::Done& message);
  bool up(Child& child, const msg::ProcessFail& message);
  bool up(Child& child, const msg::CutOff& message);
  bool up(Child& child, const msg::NodesLost& message);
  bool up(Child& child, const msg::Log& message);

  // The life of an agent (agent_life.cpp).
  void use_job(Job job);
  void terminate(std::int32_t signo, std::uint32_t grace_ms);
  void shut_down();
  void parent_lost(const std::string& why);
  // The children of a lost child may have lost only their parent. This agent adopts them, unless it
  // gave the child up.
  void child_ended(Child& child, const std::string& why, bool given_up = false);
  RankSet out_of_reach(const Child& lost, const std::vector<Child>& orphans);
  void tell_lost(const RankSet& nodes);
  void nodes_lost(const RankSet& nodes);
  void rank_over(Rank rank, Outcome outcome);
  void ranks_over(const RankSet& ranks, const Outcome& outcome);
  void process_fail(Rank rank, const Outcome& said);
  void processes_lost(const RankSet& ranks, const Outcome& outcome);
  // No agent will report verdicts of these ranks any more.
  void lose(const RankSet& ranks, const std::string& why);
  void first_failure(Rank rank, const Outcome& outcome);
  void violation(LinkId link, const std::string& why);
  bool resize(const WindowSize& size);
  void tell_window(const Child& child);
  void give_up();
  void drain();
  void limit_reached();
  void send_verdicts();
  RankSet first_ranks(const RankSet& ranks) const;
  void advance();
  void advance_start();
  void advance_end();
  std::uint32_t give_up_ms() const;

  // Ranks that are added while the job runs (agent_spawn.cpp).
  void tell_job(const Child& child);
  void bring_up_to_date(Child& child);
  void advance_growth();
  bool add_world(const World& world, std::pair<Rank, RequestId> asker);
  void keep_preput(const World& world, const std::string& prefix);
  void start_more(const RankSet& own);
  Outcome softened(Rank rank, Outcome outcome);
  void tell_failed(Rank rank, RequestId id);

  // Adoption (agent_adopt.cpp): first the orphan's side, then the adopter's.
  bool may_be_adopted() const;
  void orphaned();
  bool down(const msg::Adopt& message);
  void told_again();
  void tell_launched();
  bool may_adopt_from(const Child& child) const;
  void adopt(const Child& lost, std::vector<Child> orphans);
  bool up(Child& child, const msg::Orphan& message);
  void correct(Child& child, Slice slice);
  bool may_be_island(const Child& child, const RankSet& ranks) const;
  void cut_off(const RankSet& ranks, bool now = false);
  static Outcome guardian_outcome() {
    return {Ending::lost, 0, false, false, "the guardian of its agent was killed"};
  }
  bool no_rank_left() const { return verdicts.open(context.own_ranks).empty(); }

  Context context;
  Children children;
  Topologies topologies;  // told by the nodes below
  Collectives collectives;
  Bulletin bulletin;
  Mailbox mailbox;
  Attributes attributes;
  Names name_table;
  Spawns spawns;
  OutputFlow output;
  InputFlow input;
  Verdicts verdicts;
  cache::PolicyMaker make_policy;
  std::unique_ptr<cache::Policy> policy;

  Phase phase = Phase::waiting;
  std::string names;  // the slice's host names received so far
  // Bytes of the job that were received so far; later those of a world.
  std::string job_bytes;
  RankSet started;
  // The ranks with a pipe that has not ended, by Stream.
  RankSet streams_open[2];
  // The outcomes of ranks that asked for the end of the job. They count instead of how the rank
  // exits.
  std::map<Rank, Outcome> aborted;
  // The outcomes that PROCESS_FAIL from below said, until Verdicts say the same.
  std::map<Rank, Outcome> reported;
  std::vector<Slice> growing;  // added slices that still lack agents
  Stats below;                 // totals of the children that are done
  // Numbers of nodes below, not of ranks, from which the whole trace has come.
  RankSet traced_nodes;
  std::uint32_t below_launched = 0;
  bool launched_sent = false;
  bool verdicts_begun = false;
  bool verdicts_sent = false;
  bool failure_sent = false;
  bool terminating = false;
  bool guardian_lost = false;
  bool timed_out = false;  // Timer::limit told the ranks to end
  bool shutdown = false;
  bool slow_armed = false;
  bool leftovers_asked = false;
  bool node_empty = false;
  bool node_empty_seen = false;
  std::uint64_t drained = 0;  // output bytes read when drain was set
  bool gave_up = false;
  RankSet lost_below;                // nodes that were reported as lost
  std::optional<WindowSize> window;  // terminal size, once it has changed
  std::vector<msg::Seen> seen;       // from an adopter, until its last Adopt
};

}  // namespace scela::nla
