// The inside of a Shell (the code around an agent's core that makes system calls): its parts, and
// what concerns several of them. Private to shell.cpp; used on the loop's thread only.
//
// A part may use those above it in the list of members, and none below it.
#pragma once

#include <string>

#include "common/os/asio.h"
#include "common/os/process/process_tree.h"
#include "common/os/process/reaper.h"
#include "nla/node/core_timers.h"
#include "nla/node/guardian_watch.h"
#include "nla/node/job_keys.h"
#include "nla/node/node_directory.h"
#include "nla/node/node_ranks.h"
#include "nla/node/run_record.h"
#include "nla/node/shell_context.h"
#include "nla/peers/child_agents.h"
#include "nla/peers/link_health.h"
#include "nla/peers/link_upgrade.h"
#include "nla/peers/parent_connection.h"
#include "nla/process/leftover_processes.h"
#include "nla/process/shell.h"

namespace scela::nla {

struct Shell::State final : LinkListener {
  // `wanted` are the options of the Shell. `made` handles child processes that end; SIGCHLD is
  // blocked from now on.
  State(ShellOptions wanted, Reaper made);
  ~State() override {
    reaper_watch.release();  // the reaper owns this descriptor
  }

  // Makes this process a child subreaper, and begins to watch child processes. An agent also opens
  // the link to its parent and watches its guardian. Called once.
  void begin();

  // Functions of LinkListener (nla/link/link.h). This one decodes a message that has come on a link
  // and queues event::Received.
  void on_frame(LinkId link, Frame frame) override;
  // Queues event::LinkEnded: the data of the link's peer are over.
  void on_ended(LinkId link, std::string why) override;
  // Notes that no process holds the other end of a child's link any more.
  void on_closed(LinkId link) override;
  // Handles the queued events after each turn of a link.
  void on_turn_over() override { pump(); }
  // Handles a frame about the link itself: the keys, or the change to TCP.
  void on_link_frame(LinkId link, Frame frame) override;

  // Handles the queued events, and those that they cause. Then it flushes the links, applies back
  // pressure, and leaves the loop if the shell has finished. A call from within does nothing.
  void pump();
  // Gives one event to the core, and carries out the actions that it returns.
  void handle(const Event& event);
  // Keeps the facts of an event that the shell itself needs: job, settings, clock.
  void learn(const Event& event);
  // At the root: keeps the job's id and the settings.
  void learn(const event::Begin& event);
  // Keeps the job's id, this node's number and the settings that the parent has sent.
  void learn(const msg::Start& start);
  // Reads encoded Settings and uses them. If the text is invalid, the user is told and the settings
  // stay.
  void use_settings(const std::string& text);

  // Waits for the reaper's descriptor, and handles child processes whenever it is readable.
  void watch_reaper();
  // Handles every child process that has ended, and guardians that a signal has stopped.
  void reap();
  // Call it if the child's link has its stream. Begins heartbeats and plans the change to TCP.
  void child_started(LinkId id);
  // Takes the keys that the parent has sent. If they are malformed, the parent is given up.
  void introduced(Result<Introduction> introduction);
  // Makes the adopter's stream the link to the parent.
  void adopted(Adopter adopter);

  // Actions that concern several parts. Parts have carry_out() for the others, and the root's own
  // actions go to ShellOptions::on_action.

  // Sends a message on a link.
  void carry_out(action::Send& send);
  // Keeps the description of the job.
  void carry_out(action::UseJob& use);
  // Closes the link to the parent, and listens for a new parent or stops that.
  void carry_out(action::AwaitAdoption& await);
  // Kills this process. The guardian cleans the node.
  void carry_out(action::KillAgent& kill);
  // Ends what the ranks have left behind, and the servers of the ranks.
  void carry_out(action::EndLeftovers& end);
  // Gives the core this agent's trace and its measurements.
  void carry_out(action::Finishing& finishing);
  // Removes the node's directory. run() returns once all messages to the parent have left.
  void carry_out(action::Finish& finish);

  // Stops reading from links and ranks while a link has more than kHighWater bytes queued.
  void apply_back_pressure();
  // Ends run() after Finish, once all messages to the parent have left.
  void leave_if_done();
  // Returns nullptr if there is no such link, or no parent at present.
  Link* link_of(LinkId id) { return id == kParentLink ? parent.link() : children.link(id); }

  ShellOptions options;  // without what the parts have taken over
  ShellContext context;
  Agent core;
  Actions actions;        // of the event that is handled now
  bool pumping = false;   // pump() is running
  bool finished = false;  // the core has given Finish
  bool sweeps = false;    // the root kills its orphans at the end: all are of this job

  Reaper reaper;
  boost::asio::posix::stream_descriptor reaper_watch;
  RunRecord record;
  GuardianWatch guardian;
  CoreTimers timers;
  JobKeys keys;
  Descendants descendants;
  NodeDirectory directory;
  ParentConnection parent;
  ChildAgents children;
  LinkHealth health;
  LinkUpgrade upgrade;
  LeftoverProcesses leftovers;
  NodeRanks ranks;
};

}  // namespace scela::nla
