// The inside of an Agent: its parts, and what concerns several of them. Each event and message goes
// to the part that it is for. Private to agent.cpp. One thread at a time uses it, as Agent says.
//
// A part may use those above it in the list of members, and none below it.
#pragma once

#include <string>

#include "nla/core/agent/final_report.h"
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

struct Agent::State {
  State(Role role, cache::PolicyMaker maker);

  // Handles one event. advance() follows.
  void dispatch(const Event& event);
  // Moves on to the next phases (nla/core/tree/lifecycle.h), and sends the reports that are due.
  void advance();
  // Returns the first part of Agent::describe(): what this agent is and does.
  std::string summary() const;

  // Events that concern several parts, or parts that know no events. Parts have on() for the
  // others. nla/core/tree/events.h says what each event means.
  void on(const event::Received& event);
  void on(const event::LinkEnded& event);
  void on(const event::TimerFired& event);
  void on(const event::Asked& event);
  void on(const event::GuardianLost& event);
  void on(const event::StdinTaken& event) { input.local_taken(event.bytes); }
  void on(const event::StdinClosed& event) { input.ranks_closed(RankSet::single(event.rank)); }
  void on(const event::StdinRead& event) { input.read(event); }
  void on(const event::OutputWritten& event) { output.credit(event.bytes, 0); }
  void on(const event::UserSignal& event);
  void on(const event::Stop& event);

  // A message from the parent or from a child. Return false if it breaks the protocol; violation()
  // follows then. Parts have from_parent() and from_child() for most messages, and the functions
  // below are for the others. nla/core/wire/messages.h says what each message means.
  bool receive_from_parent(const Message& message);
  bool receive_from_child(Child& child, const Message& message);
  bool from_parent(const msg::Signal& message);
  bool from_parent(const msg::Terminate& message);
  bool from_parent(const msg::Shutdown& message);
  bool from_parent(const msg::Stdin& message);
  bool from_parent(const msg::Credit& message);
  bool from_parent(const msg::Adopt& message);
  bool from_parent(const msg::Resize& message);
  bool from_child(Child& child, const msg::Ready& message);
  bool from_child(Child& child, const msg::NodeFailed& message);
  bool from_child(Child& child, const msg::HandBack& message);
  bool from_child(Child& child, const msg::Below& message);
  bool from_child(Child& child, const msg::Output& message);
  bool from_child(Child& child, const msg::StdinTaken& message);

  // The peer of this link has broken the protocol. A child is given up; if it is the parent, the
  // subtree ends.
  void violation(LinkId link, const std::string& why);
  // Repeats to a new parent what the lost one may not have passed on. An agent that knows it
  // already ignores it.
  void repeat_to_parent();
  // Parts of advance(): the ranks run, or the subtree is to end.
  void advance_running();
  void advance_end();
  // Returns true if this agent knows what its slice is.
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
  TreeStart tree_start;
  FinalReport final_report;
  LostNodes lost_nodes;
  LostChildren lost_children;
  JobUpdates job_updates;
  ParentLink parent;
};

}  // namespace scela::nla
