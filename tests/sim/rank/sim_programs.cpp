#include "tests/sim/rank/sim_programs.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::sim {

namespace event = nla::event;

namespace {

constexpr std::int32_t kNoSuchFile = 2;
constexpr std::int32_t kCancelled = 125;  // ECANCELED

}  // namespace

void Programs::on(std::uint32_t index, nla::action::Reply& action) {
  if (action.rank >= processes_.size() || processes_[action.rank].node != index) {
    return run_.fail(
        cat(nodes_.name(index), " answers rank ", action.rank, ", which is not on it"));
  }
  Program& program = programs_[action.rank];
  const auto due = std::find_if(program.due.begin(), program.due.end(),
                                [&](const Due& entry) { return entry.first == action.id; });
  const bool again = std::count(program.arriving.begin(), program.arriving.end(), action.id) > 0;
  if (due == program.due.end() || again) {
    return run_.fail(cat("rank ", action.rank, " is answered request ", action.id,
                         " twice, or without having asked"));
  }
  const std::uint32_t op = due->second;
  const std::string complaint = reference_.answered(
      op, action.rank, action.response, !action.response.ok && excuses_.excuse(op, action.rank));
  if (!complaint.empty()) {
    return run_.fail(cat("rank ", action.rank, ", op ", run_.schedule.ops[op].id, ": ", complaint));
  }
  program.arriving.push_back(action.id);
  run_.after(run_.random.below(100), TaskKind::rank_reply, action.rank, 0, action.id);
}

void Programs::start(Rank rank) {
  Process& process = processes_[rank];
  const std::uint32_t node = process.node;
  if (process.life != Life::starting) return;
  if (process.cancelled || run_.schedule.not_started.contains(rank)) {
    process.life = Life::over;
    const std::int32_t error = process.cancelled ? kCancelled : kNoSuchFile;
    process.fate.ending = process.cancelled ? nla::Ending::cancelled : nla::Ending::not_started;
    agents_.give(node, event::RankNotStarted{rank, error, "planned"});
    node_ends_.check_empty(node);
    return node_ends_.check_gone(node);
  }
  process.life = Life::running;
  process.ran = true;
  ++run_.result.ranks;
  leftovers_.begin(node, rank);
  agents_.give(node, event::RankStarted{rank});
  if (process.signal_at_start != 0) processes_.signal(rank, process.signal_at_start);
  processes_.wake(rank);
}

void Programs::step(Rank rank) {
  Process& process = processes_[rank];
  Program& own = programs_[rank];
  process.stepping = false;
  if (process.life != Life::running || own.blocked_on != 0) return;
  const auto& program = reference_.program(rank);
  if (own.step < program.size()) {
    if (!run_op(rank, program[own.step])) return;  // not done: something will wake it
    ++own.step;
    return processes_.wake(rank);
  }
  own.joining = !own.due.empty();
  if (!own.joining) processes_.end(rank, {nla::Ending::exited, 0, false, false, {}});
}

bool Programs::run_op(Rank rank, std::uint32_t index) {
  const Op& op = run_.schedule.ops[index];
  Program& own = programs_[rank];
  switch (op.kind) {
    case OpKind::output:
      return output_.write(rank, op);
    case OpKind::read_input:
      return input_.read(rank, op);
    case OpKind::join:
      own.joining = !own.due.empty();
      return !own.joining;
    case OpKind::pause:
      processes_[rank].stepping = true;
      ++own.step;
      run_.after(op.size, TaskKind::rank_step, rank);
      return false;
    case OpKind::leave:
      processes_.end(rank, {nla::Ending::exited, op.code, false, false, {}});
      return false;
    case OpKind::die: {
      const bool core = op.code == 6 || op.code == 11;
      processes_.end(rank, {nla::Ending::signaled, op.code, core, false, {}});
      return false;
    }
    case OpKind::unfinished:
      processes_.end(rank, {nla::Ending::unfinished, 0, false, false, {}});
      return false;
    default:
      return ask(rank, index);
  }
}

bool Programs::ask(Rank rank, std::uint32_t index) {
  const Op& op = run_.schedule.ops[index];
  nla::Request request = reference_.request(index, rank);
  if (op.kind == OpKind::abort || op.kind == OpKind::violate) {
    ask_for_end(rank, op, std::move(request));
    return false;
  }
  count_payload(op, request);
  reference_.asked(index, rank, op.kind == OpKind::get && processes_.same_node(op));
  Program& own = programs_[rank];
  const nla::RequestId id = own.next_request++;
  own.due.emplace_back(id, index);
  if (!op.async) own.blocked_on = id;
  agents_.give(processes_[rank].node, event::Asked{rank, id, std::move(request)});
  return op.async;
}

void Programs::ask_for_end(Rank rank, const Op& op, nla::Request request) {
  Process& process = processes_[rank];
  const bool abort = op.kind == OpKind::abort;
  process.abort = nla::Outcome{abort ? nla::Ending::aborted : nla::Ending::violated,
                               abort ? op.code : 0, false, false, "as the schedule says"};
  if (!end_.due() && !nodes_.severed(process.node)) end_.begin_for(rank);
  Program& own = programs_[rank];
  const nla::RequestId id = own.next_request++;
  own.blocked_on = id;  // no answer: it waits for its end, or ends by itself
  if (op.code % 2 == 1) processes_.end(rank, {nla::Ending::exited, op.code, false, false, {}});
  agents_.give(process.node, event::Asked{rank, id, std::move(request)});
}

void Programs::count_payload(const Op& op, const nla::Request& request) {
  if (const auto* call = std::get_if<nla::ask::Collective>(&request)) {
    for (const Chunk& part : call->parts)
      agents_.add_open(part.size() + 32);
    agents_.add_open(32);
  } else if (op.kind == OpKind::put) {
    agents_.add_kept(op.size + 32);
  } else if (op.kind == OpKind::send) {
    agents_.add_kept(op.size);
  }
}

void Programs::reply(Rank rank, nla::RequestId id) {
  Program& own = programs_[rank];
  std::erase(own.arriving, id);
  const auto due = std::find_if(own.due.begin(), own.due.end(),
                                [&](const Due& entry) { return entry.first == id; });
  const Op& op = run_.schedule.ops[due->second];
  own.due.erase(due);
  if (processes_[rank].life != Life::running) return;
  if (own.blocked_on == id) {
    own.blocked_on = 0;
    if (!op.async) ++own.step;
    processes_.wake(rank);
  } else if (own.joining && own.due.empty()) {
    own.joining = false;
    processes_.wake(rank);
  }
}

void Programs::exit(Rank rank) {
  Process& process = processes_[rank];
  process.life = Life::over;
  agents_.give(process.node, event::RankExited{rank, process.fate});
  output_.want_pump(process.node);
  input_.want_taken(process.node);
  node_ends_.check_empty(process.node);
  node_ends_.check_gone(process.node);
}

std::string Programs::where(Rank rank) const {
  const auto& program = reference_.program(rank);
  const std::size_t step = programs_[rank].step;
  if (step >= program.size()) return "its end";
  return cat("op ", run_.schedule.ops[program[step]].id);
}

}  // namespace scela::sim
