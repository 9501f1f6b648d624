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
  enum class Change : std::uint8_t { none, planned, asked, over } change = Change::none;
  std::optional<Alarm> change_timer;
  std::unique_ptr<TlsAttempt> attempt;
  std::optional<Alarm> guardian_timer;  // while its guardian is stopped
  bool closed = false;                  // the other end of its link is closed
  bool given_up = false;                // its end is not reported any more
  bool attach = false;                  // it ran already, and is to be adopted
  bool gone = false;
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

  // The functions of LinkListener.
  void on_frame(LinkId link, Frame frame) override;
  void on_ended(LinkId link, std::string why) override;
  void on_closed(LinkId link) override;
  void on_turn_over() override { pump(); }
  void on_link_frame(LinkId link, Frame frame) override;

  // Incoming events.
  void emit(Event event) { events.push_back(std::move(event)); }
  void pump();
  void handle(const Event& event);
  void learn(const Event& event);
  void use_settings(const std::string& text);
  void watch_reaper();
  void reap();
  void continue_guardian(ChildAgent& child);
  void watch_leash();

  // The health of the links (shell_links.cpp).
  void watch_parent();
  void watch_child(ChildAgent& child);
  void arm_heart();
  void beat_links();
  void lose_child(LinkId id, std::string why);
  void lose_parent();
  void probe_parent();
  std::string silence() const;
  void introduced(Result<Introduction> words);
  Introduction introduction(Slice child);

  // The change of links to TCP (shell_links.cpp), on the parent's side:
  bool may_change(const ChildAgent& child) const;
  void plan_change(LinkId id);
  void change_busy();
  void ask_for_change(LinkId id);
  void connect(LinkId id, std::uint16_t port);
  void changed(LinkId id);
  void change_failed(LinkId id, const std::string& why);
  // On the child's side:
  void listen();

  // Outgoing actions.
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

  void start_child(LinkId id);
  void child_started(LinkId id, tl::expected<StartedAgent, SpawnFailure> started);
  void let_parent_go();
  void adopted(Adopter adopter);
  void child_gone_if(ChildAgent& child, LinkId id);
  std::vector<pid_t> kept_sessions() const;
  void check_leftovers();
  void kill_again();
  void flush_links();
  void apply_back_pressure();
  void leave_if_done();
  std::string make_directory();
  int segment_descriptor();
  void pair_used(std::uint64_t hash);
  const Topology& machine();
  EngineFacts engine_facts();
  void remove_directories();
  std::string directory_of(std::string_view host) const;
  Link* link_of(LinkId id);
  void write_record(bool all);
  void record_failed(Error why);
  std::uint64_t clock_ns() const { return monotonic_ns() + clock_offset; }

  boost::asio::io_context io{1};
  ShellOptions options;
  Agent core;
  ReadBuffer buffer;
  Tracer tracer;

  std::deque<Event> events;
  Actions actions;
  bool pumping = false;

  Settings settings;
  std::string job_id;
  std::uint32_t node_index = 0;
  std::uint32_t degree = 1;
  std::uint64_t clock_offset = 0;  // root's clock minus ours, modulo 2^64
  std::uint64_t started_ns = 0;    // when Start came
  std::optional<Job> job;
  std::string directory;  // of this node; empty: none was made
  Fd directory_hold;      // shows that this agent is alive
  std::uint64_t use_job_ns = 0;

  Reaper reaper;
  boost::asio::posix::stream_descriptor reaper_watch;
  boost::asio::posix::stream_descriptor leash_watch;
  Descendants descendants;
  enum class Leftovers { none, asked, killing } leftovers = Leftovers::none;
  std::optional<Alarm> kill_timer;
  std::array<std::optional<Alarm>, kTimers> timers;

  std::optional<Alarm> heart_timer;  // one for all links
  std::optional<Heartbeat> parent_heart;
  Introduction parent_words;
  NodeKeys keys;     // of this agent's slice
  AgentMarks marks;  // by the key of all agents of the job
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
  bool segment_refused = false;
  std::optional<Topology> topology;  // of its machine, once needed
  std::optional<Binding> binding;    // of ranks to processors, once needed
  std::unique_ptr<Ranks> ranks;
  std::uint64_t early_credit = 0;  // for output, before ranks were started
  bool paused = false;             // child links and PMI are not read

  std::optional<RecordWriter> recorder;
  std::string record_path;
  Fd record_file;
  std::optional<Error> record_error;
  bool finished = false;
  bool sweeps = false;  // the root kills its orphans at the end
};

}  // namespace scela::nla
