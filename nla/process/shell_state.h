// The state of a Shell: everything that lives as long as it does. Private to shell*.cpp; used on
// the loop's thread only.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/os/alarm.h"
#include "common/os/asio.h"
#include "common/os/clock.h"
#include "common/os/process_tree.h"
#include "common/os/reaper.h"
#include "nla/adopt/adoption.h"
#include "nla/core/record/record.h"
#include "nla/core/wire/binding.h"
#include "nla/guard/agent_mark.h"
#include "nla/io/host_probe.h"
#include "nla/io/settings.h"
#include "nla/keys/node_keys.h"
#include "nla/link/factory.h"
#include "nla/process/shell.h"
#include "nla/ranks/node_segment.h"
#include "nla/ranks/ranks.h"
#include "nla/spawn/factory.h"

namespace scela::nla {

// Another node's agent, started from here.
struct ChildAgent {
  std::unique_ptr<Link> link;
  Contact contact;
  std::uint64_t asked_ns = 0;      // when its start was requested
  pid_t session = 0;               // of its local process; 0: there is none
  pid_t pid = 0;                   // that process; 0: not started, or reaped
  int status = 0;                  // of the reaped process
  bool starting = true;            // the spawner has not answered yet
  std::optional<Heartbeat> heart;  // of established links between machines
  Stall stall;
  std::uint32_t node = 0;
  std::uint32_t end = 0;  // of its slice, as it was first
  // The change of its link to TCP. `none`: the link never changes. `planned`: it changes once it
  // has carried kChangeBytes or is kChangeAgeMs old. `asked`: the child was asked for a port.
  // `over`: the link has changed, or the change has failed; it is not tried again.
  enum class Change : std::uint8_t { none, planned, asked, over } change = Change::none;
  std::optional<Alarm> change_timer;    // begins the change, then limits it
  std::unique_ptr<TlsAttempt> attempt;  // connects to the child by TCP
  std::optional<Alarm> guardian_timer;  // while its guardian is stopped
  bool closed = false;                  // the other end of its link is closed
  bool given_up = false;                // its end is not reported any more
  bool attach = false;                  // it ran already, and is to be adopted
  bool gone = false;                    // ChildGone or ChildFailed was reported
};

struct Shell::State final : LinkListener {
  State(ShellOptions wanted, Reaper made)
      : options(std::move(wanted)),
        core(options.role),
        reaper(std::move(made)),
        reaper_watch(io, reaper.descriptor()),
        leash_watch(io),
        descendants([this](pid_t pid) { return marks.is_agent(pid); }) {}
  ~State() override {
    // The reaper owns this descriptor.
    reaper_watch.release();
    if (leash_watch.is_open()) leash_watch.release();
  }

  void begin();

  // The contract is in nla/link/link.h.
  void on_frame(LinkId link, Frame frame) override;
  void on_ended(LinkId link, std::string why) override;
  void on_closed(LinkId link) override;
  void on_turn_over() override { pump(); }
  void on_link_frame(LinkId link, Frame frame) override;

  // Incoming events.
  // Queues an event, which the next pump() handles.
  void emit(Event event) { events.push_back(std::move(event)); }
  // Handles the queued events, and those that they cause. Then it flushes the links, applies back
  // pressure, and leaves the loop if the shell has finished. A call from within does nothing.
  void pump();
  // Gives one event to the core, and carries out the actions that it returns.
  void handle(const Event& event);
  // Keeps the facts of an event that the shell itself needs: job, settings, clock.
  void learn(const Event& event);
  // `text` is an encoded Settings. If it is invalid, the user is told and the settings stay.
  void use_settings(const std::string& text);
  // From now on handles children whenever the descriptor of the reaper is readable.
  void watch_reaper();
  // Handles every child process that has ended, and guardians that a signal has stopped.
  void reap();
  // Sends SIGCONT to a stopped guardian after kStoppedGuardianMs, if it has not ended then.
  void continue_guardian(ChildAgent& child);
  // From now on reads the guardian's socket (nla/guard/guardian.h). If the guardian is gone or
  // wants the end of the node, reports GuardianLost.
  void watch_leash();

  // The health of the links (shell_links.cpp).
  // Both functions begin to expect signs of life of the peer (nla/core/tree/heartbeat.h).
  void watch_parent();
  void watch_child(ChildAgent& child);
  // Sets the timer of all heartbeats to the next tick. Stops it if the period is 0.
  void arm_heart();
  // One tick of all links: sends beats, and gives up peers that are silent or take no bytes.
  void beat_links();
  // Gives a peer up: closes the link by force and reports its end to the core. A child is also
  // killed by SIGKILL, or the process such as ssh that stands for it here.
  void lose_child(LinkId id, std::string why);
  void lose_parent();
  // Asks the kernel of scela-run's machine for a sign of life (nla/io/host_probe.h). If there is an
  // answer, it counts as a beat. Does nothing if the parent is another agent, or if the
  // connection of scela-run is known to be closed.
  void probe_parent();
  std::string silence() const;  // the error text for a silent peer
  // Takes the keys that the parent has sent (nla/core/wire/link_frames.h), once. If they are
  // malformed, the parent is given up.
  void introduced(Result<Introduction> words);
  // Returns the first frame for the child with this slice: it has the keys of the slice's nodes.
  Introduction introduction(Slice child);

  // The change of links to TCP (shell_links.cpp), on the parent's side. may_change() returns false
  // for children on this machine, for adopted ones, and if the settings forbid the change.
  bool may_change(const ChildAgent& child) const;
  void plan_change(LinkId id);
  // Asks the children for which a change is planned and which have carried enough bytes.
  void change_busy();
  void ask_for_change(LinkId id);
  // Connects to the port that the child has offered; 0: the child cannot listen.
  void connect(LinkId id, std::uint16_t port);
  // Called when the child's change frame has come: the change has succeeded.
  void changed(LinkId id);
  // Reports that the link stays as it is. If the settings demand TCP, gives the child up instead.
  void change_failed(LinkId id, const std::string& why);
  // On the child's side: listens for the parent and sends it the port, or 0 if it cannot listen.
  void listen();

  // Outgoing actions. The meaning of each stands in nla/core/tree/actions.h. The template is for
  // the actions without an overload: those for the ranks, and those for ShellOptions::on_action.
  template <class A>
  void carry_out(A& action);
  void carry_out(action::Send& send);
  void carry_out(action::StartChild& start);
  void carry_out(action::CloseLink& close);
  void carry_out(action::UseJob& use);
  void carry_out(action::AwaitAdoption& await);
  void carry_out(action::AddWorld& add);
  void carry_out(action::StartRanks& start);
  void carry_out(action::EndLeftovers& end);
  void carry_out(action::SetTimer& set);
  void carry_out(action::CancelTimer& cancel);
  void carry_out(action::Finishing& finishing);
  void carry_out(action::Finish& finish);

  // Makes the spawner start the agent of this link, or attach to a running one. The result comes to
  // child_started().
  void start_child(LinkId id);
  void child_started(LinkId id, tl::expected<StartedAgent, SpawnFailure> started);
  // Drops the link to the parent and all that belongs to it, without a report to the core.
  void let_parent_go();
  // Makes the adopter's stream the link to the parent.
  void adopted(Adopter adopter);
  // Reports ChildGone, once, if the link is closed and its local process is reaped.
  void child_gone_if(ChildAgent& child, LinkId id);
  // Returns the sessions that stand here for the agents of other nodes, ascending. Their processes
  // are no leftovers of this node.
  std::vector<pid_t> kept_sessions() const;
  // Reports NodeEmpty if no process that the ranks have left is alive.
  void check_leftovers();
  // Kills all leftovers, now and every kKillAgainMs until none is alive.
  void kill_again();
  void flush_links();
  // Stops reading from links and ranks while a link has more than kHighWater bytes queued.
  void apply_back_pressure();
  // Ends run() after Finish, once all messages to the parent have left.
  void leave_if_done();
  // Makes this node's directory, if there is none yet. Returns an empty string, or the reason why
  // it cannot be made.
  std::string make_directory();
  // Makes the segment if need be. Returns its descriptor, or -1 if there is none.
  int segment_descriptor();
  // Reports that a rank has read the pair with this hash of its key in the segment.
  void pair_used(std::uint64_t hash);
  // Returns the machine's topology. The first call reads it, which blocks as local files do.
  const Topology& machine();
  EngineFacts engine_facts();
  // Removes this node's directory, and directories that earlier jobs have abandoned here.
  void remove_directories();
  // Returns the path that the directory of the node with this name has.
  std::string directory_of(std::string_view host) const;
  // Returns nullptr if there is no such link, or no parent at present.
  Link* link_of(LinkId id);
  // Writes the record if kRecordBlock bytes were collected, or in any case if `all`.
  void write_record(bool all);
  // Ends the record and keeps the reason. An agent also tells the user.
  void record_failed(Error why);
  std::uint64_t clock_ns() const { return monotonic_ns() + clock_offset; }

  boost::asio::io_context io{1};
  ShellOptions options;
  Agent core;
  ReadBuffer buffer;
  Tracer tracer;

  std::deque<Event> events;
  Actions actions;       // of the event that is handled now
  bool pumping = false;  // pump() is running

  Settings settings;
  std::string job_id;
  std::uint32_t node_index = 0;
  std::uint32_t degree = 1;
  std::uint64_t clock_offset = 0;  // root's clock minus ours, modulo 2^64
  std::uint64_t started_ns = 0;    // when Start came
  std::optional<Job> job;
  std::string directory;         // of this node; empty: none was made
  Fd directory_hold;             // shows that this agent is alive
  std::uint64_t use_job_ns = 0;  // when UseJob came

  Reaper reaper;
  boost::asio::posix::stream_descriptor reaper_watch;
  boost::asio::posix::stream_descriptor leash_watch;
  Descendants descendants;
  // The processes that the ranks have left. `none`: their end is not awaited. `asked`: they got
  // SIGTERM, and NodeEmpty follows when they have ended. `killing`: they get SIGKILL repeatedly.
  enum class Leftovers { none, asked, killing } leftovers = Leftovers::none;
  std::optional<Alarm> kill_timer;
  std::array<std::optional<Alarm>, kTimers> timers;

  std::optional<Alarm> heart_timer;  // one for all links
  std::optional<Heartbeat> parent_heart;
  Introduction parent_words;  // without the keys
  NodeKeys keys;              // of this agent's slice
  AgentMarks marks;           // by the key of all agents of the job
  std::unique_ptr<HostProbe> parent_probe;
  bool parent_connection_known = false;  // seen when the parent was first watched
  std::unique_ptr<TlsAttempt> change_listener;
  bool change_asked = false;  // by the parent

  std::unique_ptr<Spawner> spawner;
  std::unique_ptr<Link> parent;
  std::uint32_t adopt_ms = 0;                         // as the core knows it
  std::unique_ptr<AdoptionListener> listener;         // while there is no parent
  Fd adopter_line;                                    // to the process of the new parent
  std::vector<std::unique_ptr<ChildAgent>> children;  // position = link - 1
  std::unique_ptr<NodeSegment> segment;
  bool segment_refused = false;      // it could not be made
  std::optional<Topology> topology;  // of its machine, once needed
  std::optional<Binding> binding;    // of ranks to processors, once needed
  std::unique_ptr<Ranks> ranks;
  std::uint64_t early_credit = 0;  // for output, before ranks were started
  bool paused = false;             // child links and PMI are not read

  std::optional<RecordWriter> recorder;
  std::string record_path;
  Fd record_file;
  std::optional<Error> record_error;
  bool finished = false;  // the core has given Finish
  bool sweeps = false;    // the root kills its orphans at the end
};

}  // namespace scela::nla
