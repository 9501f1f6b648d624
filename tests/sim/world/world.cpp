// The parts of a World, and which of them each task and each action of an agent goes to.
#include "tests/sim/world/world.h"

#include "tests/sim/generator/payload.h"
#include "tests/sim/job/finishes.h"
#include "tests/sim/job/hangs.h"
#include "tests/sim/job/launcher.h"
#include "tests/sim/job/node_jobs.h"
#include "tests/sim/job/sim_spawns.h"
#include "tests/sim/job/sim_verdicts.h"
#include "tests/sim/node/adoptions.h"
#include "tests/sim/node/agent_starts.h"
#include "tests/sim/node/faults.h"
#include "tests/sim/node/sim_messages.h"
#include "tests/sim/node/timers.h"
#include "tests/sim/rank/input.h"
#include "tests/sim/rank/output.h"
#include "tests/sim/rank/sim_programs.h"
#include "tests/sim/rank/sim_terminal.h"
#include "tests/sim/rank/traces.h"

namespace scela::sim {

namespace {

// Passes the action on to the first of the parts that does actions of its kind. One of them must.
template <class Action, class First, class... Rest>
void pass_action(std::uint32_t index, Action& action, First& first, Rest&... rest) {
  if constexpr (requires { first.on(index, action); }) {
    first.on(index, action);
  } else {
    pass_action(index, action, rest...);
  }
}

}  // namespace

// A part may use those above it in the list of members, and none below it.
struct World::State {
  State(const Schedule& schedule, Hooks hooks);

  void step(const Task& task);
  // Return false if the task is not for these parts.
  bool step_node(const Task& task);
  bool step_rank(const Task& task);
  bool step_launcher(const Task& task);
  // Does an action of the agent of node `index`.
  void act(std::uint32_t index, nla::Action& action);

  Run run;
  Network network;
  Reference reference;
  Nodes nodes;
  Processes processes;
  Leftovers leftovers;
  JobModel job;
  EndOfJob end;
  Excuses excuses;
  Agents agents;
  NodeJobs node_jobs;
  Output output;
  Input input;
  Terminal terminal;
  Traces traces;
  NodeEnds node_ends;
  Programs programs;
  Timers timers;
  Messages messages;
  AgentStarts starts;
  Adoptions adoptions;
  Faults faults;
  Verdicts verdicts;
  Finishes finishes;
  Launcher launcher;
  Spawns spawns;
  Hangs hangs;
};

World::State::State(const Schedule& schedule, Hooks hooks)
    : run(schedule),
      network(run.schedule, run.tasks, run.random, run.now),
      reference(run.schedule),
      nodes(run, network),
      processes(run),
      leftovers(run),
      job(run),
      end(run),
      excuses(run, nodes, processes, reference, job, end),
      agents(run, nodes, std::move(hooks),
             [this](std::uint32_t index, nla::Action& action) { act(index, action); }),
      node_jobs(run, nodes, processes, job, end, excuses),
      output(run, nodes, processes, leftovers, agents, end),
      input(run, nodes, processes, node_jobs, agents),
      terminal(run, nodes, processes, node_jobs, agents, end),
      traces(run, nodes, agents),
      node_ends(run, network, nodes, processes, leftovers, agents, output),
      programs(run, nodes, processes, leftovers, reference, end, excuses, agents, output, input,
               node_ends),
      timers(run, nodes, agents, end),
      messages(run, network, nodes, end, excuses, agents, node_ends),
      starts(run, network, nodes, job, agents, node_ends),
      adoptions(run, network, nodes, processes, excuses, programs),
      faults(run, network, nodes, agents, node_ends),
      verdicts(run, network, nodes, processes, job, end, excuses, node_ends, output, traces),
      finishes(run, network, nodes, processes, leftovers, end, node_ends, output, timers, verdicts),
      launcher(run, nodes, job, end, agents),
      spawns(run, nodes, processes, job, end, excuses, agents),
      hangs(run, nodes, processes, reference, job, end, excuses, node_ends, programs, launcher) {
  run.after(0, TaskKind::begin);
  run.plan(Planned::from_beginning);
  run.after(kTimeout, TaskKind::timeout);
}

void World::State::act(std::uint32_t index, nla::Action& action) {
  if (index == 0 && std::holds_alternative<nla::action::AddWorld>(action)) return spawns.taken();
  std::visit(
      [&](auto& one) {
        pass_action(index, one, messages, starts, adoptions, timers, node_ends, node_jobs, programs,
                    output, input, terminal, traces, finishes, verdicts, launcher, spawns);
      },
      action);
}

void World::State::step(const Task& task) {
  if (step_node(task) || step_rank(task) || step_launcher(task)) return;
  run.fail("a task of an unknown kind");
}

bool World::State::step_node(const Task& task) {
  switch (task.kind) {
    case TaskKind::deliver:
      messages.deliver(task.a, task.b != 0);
      return true;
    case TaskKind::end_seen:
      messages.end_seen(task.a, task.b != 0);
      return true;
    case TaskKind::child_begun:
      starts.begun(task.a);
      return true;
    case TaskKind::start_agent:
      starts.start(task.a);
      return true;
    case TaskKind::attach:
      adoptions.attach(task.a, task.c);
      return true;
    case TaskKind::child_failed:
      starts.failed(task.a, static_cast<nla::StartPhase>(task.b), task.c != 0);
      return true;
    case TaskKind::child_gone:
      messages.child_gone(task.a);
      return true;
    case TaskKind::kill_agent:
      node_ends.agent_dies(task.a, LastMessages::arrive);
      return true;
    case TaskKind::reap:
      node_ends.reap(task.a, task.c != 0 ? Force::kill : Force::ask);
      return true;
    case TaskKind::timer:
      timers.fire(task.a, static_cast<nla::Timer>(task.b), task.c);
      return true;
    case TaskKind::leftover_end:
      node_ends.leftover_end(task.a, task.b);
      return true;
    case TaskKind::empty:
      node_ends.tell_empty(task.a);
      return true;
    default:
      return false;
  }
}

bool World::State::step_rank(const Task& task) {
  switch (task.kind) {
    case TaskKind::rank_start:
      programs.start(task.a);
      return true;
    case TaskKind::rank_step:
      programs.step(task.a);
      return true;
    case TaskKind::rank_exit:
      programs.exit(task.a);
      return true;
    case TaskKind::rank_reply:
      programs.reply(task.a, task.c);
      return true;
    case TaskKind::pump:
      output.pump(task.a);
      return true;
    case TaskKind::stdin_taken:
      input.taken(task.a);
      return true;
    case TaskKind::measure:
      traces.measure(task.a);
      return true;
    default:
      return false;
  }
}

bool World::State::step_launcher(const Task& task) {
  switch (task.kind) {
    case TaskKind::begin:
      launcher.begin();
      return true;
    case TaskKind::decide:
      launcher.decide();
      return true;
    case TaskKind::plan:
      spawns.plan();
      return true;
    case TaskKind::stdin_more:
      input.more();
      return true;
    case TaskKind::shown:
      output.shown(task.c);
      return true;
    case TaskKind::fault:
      faults.hit(run.schedule.faults[task.a]);
      return true;
    case TaskKind::user:
      launcher.user(run.schedule.stimuli[task.a]);
      return true;
    case TaskKind::window:
      terminal.change();
      return true;
    case TaskKind::timeout:
      hangs.timeout();
      return true;
    default:
      return false;
  }
}

World::World(const Schedule& schedule, Hooks hooks)
    : state_(std::make_unique<State>(schedule, std::move(hooks))) {}
World::~World() = default;

RunResult World::run() {
  State& state = *state_;
  Run& run = state.run;
  while (!run.tasks.empty() && run.ok()) {
    const Task task = run.tasks.take();
    run.now = task.at;
    ++run.result.events;
    run.note(task.at, static_cast<std::uint64_t>(task.kind), mix(task.a, task.b, task.c));
    state.step(task);
  }
  if (run.ok()) state.hangs.check_quiet();
  if (run.ok() && !state.nodes.root_killed()) {
    state.output.check_complete();
    state.terminal.check_arrived();
  }
  run.result.messages = state.network.messages();
  return run.result;
}

RunResult play(const Schedule& schedule, bool twice) {
  RunResult result = World(schedule).run();
  if (twice && result.ok() && World(schedule).run().hash != result.hash) {
    result.failure = "the same schedule gave different events the second time";
  }
  return result;
}

}  // namespace scela::sim
