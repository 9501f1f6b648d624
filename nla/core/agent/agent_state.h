// The inside of an Agent (nla/core/tree/agent.h): its parts, and the events and messages that
// concern several of them. Each other event and message goes to the one part that it is for.
// Private to agent.cpp. One thread at a time uses it, as Agent says.
//
// A part may use those above it in the list of members, and none below it. Words of all parts: the
// root is the agent inside scela-run; a verdict is how a rank ended; an orphan is an agent that
// lost its parent and waits to be adopted by a new one.
#pragma once

#include <string>

#include "nla/core/agent/final_report.h"
#include "nla/core/agent/held_requests.h"
#include "nla/core/agent/inspection_relay.h"
#include "nla/core/agent/job_updates.h"
#include "nla/core/agent/log_relay.h"
#include "nla/core/agent/lost_children.h"
#include "nla/core/agent/lost_nodes.h"
#include "nla/core/agent/parent_link.h"
#include "nla/core/agent/tree_start.h"
#include "nla/core/io/streams.h"
#include "nla/core/io/terminal_size.h"
#include "nla/core/job/job_end.h"
#include "nla/core/job/launch_report.h"
#include "nla/core/job/local_ranks.h"
#include "nla/core/job/node_processes.h"
#include "nla/core/job/rank_failures.h"
#include "nla/core/job/verdict_reports.h"
#include "nla/core/kvs/rank_services.h"
#include "nla/core/kvs/spawns.h"
#include "nla/core/tree/agent.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

// All state of an Agent. Agent::handle() calls dispatch() and then advance().
struct Agent::State {
  // The arguments are those of the constructor of Agent.
  State(Role role, cache::PolicyMaker maker);

  // Passes one event to on() of the first part that handles its kind. The caller calls advance()
  // after it.
  void dispatch(const Event& event);
  // Begins the next phases (nla/core/tree/lifecycle.h) if their conditions hold now, and sends the
  // reports that are due.
  void advance();
  // Returns the first part of Agent::describe(): role, phase and ranks without a verdict, as text.
  std::string summary() const;

  // Below are the events that concern several parts, or parts that know no events. Parts have on()
  // for the others.

  // Passes a message to receive_from_parent() or receive_from_child(), and calls violation() if the
  // message breaks the protocol.
  void on(const event::Received& event);
  // Treats the parent as lost, or waits for another one. Treats a child as lost.
  void on(const event::LinkEnded& event);
  // Notes that no process of the child is left. If it has not ended before, treats it as lost.
  void on(const event::ChildGone& event);
  // Calls the part that has started this timer.
  void on(const event::TimerFired& event);
  // Carries out a request of a rank of this node, or reports the abort or the broken protocol of a
  // rank.
  void on(const event::Asked& event);
  // Ends the ranks of this node, because no process would clean the node if the agent died too.
  void on(const event::GuardianLost& event);
  // Pass on how far ranks of this node have read standard input, and which of them read no more.
  void on(const event::StdinTaken& event) { input.local_taken(event.bytes); }
  void on(const event::StdinClosed& event) { input.ranks_closed(RankSet::single(event.rank)); }
  // At the root: pass on input that the shell has read, the credit for output that was shown, and a
  // signal of the user.
  void on(const event::StdinRead& event) { input.read(event); }
  void on(const event::OutputWritten& event) { output.credit(event.bytes, 0); }
  void on(const event::UserSignal& event);
  // At the root: ends the job.
  void on(const event::Stop& event);

  // Messages of other agents. All these functions return false if the message breaks the protocol;
  // violation() follows then. Parts have from_parent() and from_child() for the messages that are
  // not below.

  // Pass a message from the parent or from a child to the part for its kind.
  bool receive_from_parent(const Message& message);
  bool receive_from_child(Child& child, const Message& message);
  // Sends the signal to the ranks of this node and to the children.
  bool from_parent(const msg::Signal& message);
  // Orders the ranks of the subtree to end.
  bool from_parent(const msg::Terminate& message);
  // Orders the agents of the subtree to end once their ranks have ended.
  bool from_parent(const msg::Shutdown& message);
  // Passes standard input to ranks of this node and to the children.
  bool from_parent(const msg::Stdin& message);
  // Allows more output to be sent to the parent.
  bool from_parent(const msg::Credit& message);
  // Takes the message of a new parent. The last one makes it the parent, and the reports are
  // repeated to it.
  bool from_parent(const msg::Adopt& message);
  // Sends the terminal's size on to the rank with a terminal.
  bool from_parent(const msg::Resize& message);
  // Marks the child as ready. If the child was started late, sends it the job.
  bool from_child(Child& child, const msg::Ready& message);
  // Reports the failure of a node below the child upwards.
  bool from_child(Child& child, const msg::NodeFailed& message);
  // Takes verdicts of ranks below. If the job was launched early, a child without running ranks
  // ends now.
  bool from_child(Child& child, const msg::Verdicts& message);
  // Passes on that the root is to start some nodes of the child's slice.
  bool from_child(Child& child, const msg::HandBack& message);
  // Keeps the slices of the child's children, which are adopted if the child is lost.
  bool from_child(Child& child, const msg::Below& message);
  // Passes output of ranks below on, towards the user.
  bool from_child(Child& child, const msg::Output& message);
  // Notes how far the ranks below have read standard input.
  bool from_child(Child& child, const msg::StdinTaken& message);

  // Ends the link because its peer has broken the protocol. If the peer is a child, the child
  // counts as lost. If it is the parent, this agent ends its subtree. `why` is to print.
  void violation(LinkId link, const std::string& why);
  // Sends a new parent again all reports that the lost one may not have passed on. An agent that
  // has such a report already ignores it.
  void repeat_to_parent();
  // Makes the steps of advance() that are due while the ranks run.
  void advance_running();
  // Takes the messages that HeldRequests has kept, if they need not wait any more.
  void release_requests();
  // Takes what HeldRequests has kept of the ends of a child's ranks, because the child is lost.
  void receive_held_ends(LinkId child);
  // Makes the steps of advance() that are due while the subtree is to end.
  void advance_end();
  // Returns true if this agent has received its slice, the nodes that it and the agents below it
  // look after.
  bool knows_itself() const { return context.phase != Phase::waiting; }

  Context context;
  Children children;
  Verdicts verdicts;
  Spawns spawns;
  RankServices services;
  OutputFlow output;
  InputFlow input;
  TerminalSize terminal;
  NodeProcesses processes;
  JobEnd job_end;
  RankFailures failures;
  VerdictReports verdict_reports;
  LaunchReport launch_report;
  LocalRanks local_ranks;
  LogRelay log;
  InspectionRelay inspections;
  TreeStart tree_start;
  FinalReport final_report;
  LostNodes lost_nodes;
  LostChildren lost_children;
  JobUpdates job_updates;
  ParentLink parent;
  HeldRequests held_requests;
};

}  // namespace scela::nla
