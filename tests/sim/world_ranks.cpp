// Ranks: their programs, their pipes, the signals they get, standard input.
#include <algorithm>

#include "common/core/text.h"
#include "tests/sim/payload.h"
#include "tests/sim/world.h"

namespace scela::sim {

namespace event = nla::event;

namespace {

constexpr std::uint64_t kPipe = std::uint64_t{64} * 1024;  // what a pipe holds (pipe(7))
constexpr std::int32_t kNoSuchFile = 2;
constexpr std::int32_t kCancelled = 125;  // ECANCELED

bool is_deadly(std::int32_t signo) {
  return signo != 10 && signo != 12;
}

}  // namespace

void World::rank_start(Rank rank) {
  RankModel& model = ranks_[rank];
  const std::uint32_t node = model.node;
  if (model.life != Life::starting) return;
  if (model.cancelled || schedule_.not_started.contains(rank)) {
    model.life = Life::over;
    model.told = true;
    const std::int32_t error = model.cancelled ? kCancelled : kNoSuchFile;
    model.fate.ending = model.cancelled ? nla::Ending::cancelled : nla::Ending::not_started;
    give(node, event::RankNotStarted{rank, error, "planned"});
    check_empty(node);
    return check_gone(node);
  }
  model.life = Life::running;
  model.ran = true;
  ++result_.ranks;
  for (const Leftover& leftover : schedule_.leftovers) {
    if (leftover.rank == rank) nodes_[node].leftovers.push_back({leftover, true});
  }
  give(node, event::RankStarted{rank});
  if (model.signal_at_start != 0) signal(rank, model.signal_at_start);
  wake(rank);
}

void World::wake(Rank rank) {
  RankModel& model = ranks_[rank];
  if (model.life != Life::running || model.stepping) return;
  model.stepping = true;
  tasks_.add(now_ + random_.below(schedule_.pace.think_max + 1), TaskKind::rank_step, rank);
}

void World::rank_step(Rank rank) {
  RankModel& model = ranks_[rank];
  if (model.life != Life::running || model.blocked_on != 0) return;
  const auto& program = reference_.program(rank);
  if (model.step < program.size()) {
    if (!run_op(rank, program[model.step])) return;  // not done: something will wake it
    ++model.step;
    return wake(rank);
  }
  model.joining = !model.due.empty();
  if (!model.joining) end_rank(rank, {nla::Ending::exited, 0, false, false, {}});
}

// True: the next op may follow.
bool World::run_op(Rank rank, std::uint32_t index) {
  const Op& op = schedule_.ops[index];
  RankModel& model = ranks_[rank];
  switch (op.kind) {
    case OpKind::output:
      return write_output(rank, op);
    case OpKind::read_input:
      return read_input(rank, op);
    case OpKind::join:
      model.joining = !model.due.empty();
      return !model.joining;
    case OpKind::pause:
      model.stepping = true;
      ++model.step;
      tasks_.add(now_ + op.size, TaskKind::rank_step, rank);
      return false;
    case OpKind::leave:
      end_rank(rank, {nla::Ending::exited, op.code, false, false, {}});
      return false;
    case OpKind::die:
      end_rank(rank, {nla::Ending::signaled, op.code, op.code == 6 || op.code == 11, false, {}});
      return false;
    case OpKind::unfinished:
      end_rank(rank, {nla::Ending::unfinished, 0, false, false, {}});
      return false;
    default:
      return ask(rank, index);
  }
}

bool World::ask(Rank rank, std::uint32_t index) {
  const Op& op = schedule_.ops[index];
  RankModel& model = ranks_[rank];
  const nla::RequestId id = model.next_request++;
  nla::Request request = reference_.request(index, rank);
  if (op.kind == OpKind::abort || op.kind == OpKind::violate) {
    const bool abort = op.kind == OpKind::abort;
    model.abort = nla::Outcome{abort ? nla::Ending::aborted : nla::Ending::violated,
                               abort ? op.code : 0, false, false, "as the schedule says"};
    if (must_end_since_ == 0 && !severed(model.node)) {
      must_end_since_ = std::max<Micros>(now_, 1);
      ends_for_ = rank;
    }
    model.blocked_on = id;  // no answer: it waits for its end, or ends by itself
    if (op.code % 2 == 1) end_rank(rank, {nla::Ending::exited, op.code, false, false, {}});
    give(model.node, event::Asked{rank, id, std::move(request)});
    return false;
  }
  if (const auto* call = std::get_if<nla::ask::Collective>(&request)) {
    for (const Chunk& part : call->parts)
      open_payload_ += part.size() + 32;
    open_payload_ += 32;
  } else if (op.kind == OpKind::put) {
    kept_payload_ += op.size + 32;
  } else if (op.kind == OpKind::send) {
    kept_payload_ += op.size;
  }
  reference_.asked(index, rank, op.kind == OpKind::get && same_node(op));
  model.due.emplace_back(id, index);
  if (!op.async) model.blocked_on = id;
  give(model.node, event::Asked{rank, id, std::move(request)});
  return op.async;
}

void World::rank_reply(Rank rank, nla::RequestId id) {
  RankModel& model = ranks_[rank];
  std::erase(model.arriving, id);
  const auto due = std::find_if(model.due.begin(), model.due.end(),
                                [&](const auto& entry) { return entry.first == id; });
  const Op& op = schedule_.ops[due->second];
  model.due.erase(due);
  if (model.life != Life::running) return;
  if (model.blocked_on == id) {
    model.blocked_on = 0;
    if (!op.async) ++model.step;
    wake(rank);
  } else if (model.joining && model.due.empty()) {
    model.joining = false;
    wake(rank);
  }
}

// From here on it does nothing; its agent hears of it a little later.
void World::end_rank(Rank rank, nla::Outcome fate) {
  RankModel& model = ranks_[rank];
  if (model.life != Life::running) return;
  model.life = Life::dying;
  model.fate = std::move(fate);
  tasks_.add(now_ + random_.below(500), TaskKind::rank_exit, rank);
}

void World::rank_exit(Rank rank) {
  RankModel& model = ranks_[rank];
  model.life = Life::over;
  model.told = nodes_[model.node].state == State::running;
  give(model.node, event::RankExited{rank, model.fate});
  want_pump(model.node);
  want_taken(model.node);
  check_empty(model.node);
  check_gone(model.node);
}

void World::signal(Rank rank, std::int32_t signo) {
  RankModel& model = ranks_[rank];
  if (model.life == Life::starting) {
    if (signo == 9 || signo == 15) {
      model.cancelled = true;  // its turn had not come
    } else if (is_deadly(signo)) {
      model.signal_at_start = signo;
    }
    return;
  }
  if (model.life != Life::running || !is_deadly(signo)) return;
  if (signo != 9 && schedule_.stubborn.contains(rank)) return;
  model.by_us = true;
  end_rank(rank, {nla::Ending::signaled, signo, false, false, {}});
}

bool World::write_output(Rank rank, const Op& op) {
  RankModel& model = ranks_[rank];
  Pipe& pipe = model.pipe[op.wait ? 1 : 0];
  if (model.output_left == 0) model.output_left = op.size;
  const std::uint64_t room = kPipe - (pipe.written - pipe.read);
  const std::uint64_t now = std::min(room, model.output_left);
  pipe.written += now;
  model.output_left -= now;
  if (now > 0) want_pump(model.node);
  return model.output_left == 0;
}

bool World::read_input(Rank rank, const Op& op) {
  RankModel& model = ranks_[rank];
  if (!schedule_.stdin_ranks.contains(rank)) return true;  // end of file at once
  const Node& node = nodes_[model.node];
  const std::uint64_t now = std::min(node.input - model.input_read, op.size - model.input_progress);
  model.input_read += now;
  model.input_progress += now;
  if (now > 0) want_taken(model.node);
  const bool at_end = node.input_end && model.input_read == node.input;
  if (model.input_progress < op.size && !at_end) return false;
  model.input_progress = 0;
  return true;
}

// Something other than the rank itself holds its pipes.
bool World::held_open(Rank rank) const {
  const RankModel& model = ranks_[rank];
  if (model.alive()) return true;
  const Node& node = nodes_[model.node];
  return std::any_of(node.leftovers.begin(), node.leftovers.end(),
                     [&](const LeftoverModel& one) { return one.alive && one.what.rank == rank; });
}

void World::want_pump(std::uint32_t index) {
  Node& node = nodes_[index];
  if (node.pumping || node.state != State::running) return;
  node.pumping = true;
  tasks_.add(now_ + random_.below(50), TaskKind::pump, index);
}

// One piece or one end of a pipe of this node, whichever comes first from a random place on.
void World::pump(std::uint32_t index) {
  Node& node = nodes_[index];
  node.pumping = false;
  if (node.state != State::running || node.ranks.empty()) return;
  const std::size_t first = random_.below(node.ranks.size());
  for (std::size_t i = 0; i < node.ranks.size(); ++i) {
    const Rank rank = node.ranks[(first + i) % node.ranks.size()];
    for (int stream = 0; stream < 2; ++stream) {
      if (!pump_one(index, rank, stream)) continue;
      wake(rank);
      return want_pump(index);
    }
  }
}

bool World::pump_one(std::uint32_t index, Rank rank, int stream) {
  Node& node = nodes_[index];
  RankModel& model = ranks_[rank];
  Pipe& pipe = model.pipe[stream];
  if (pipe.end_given || !model.ran) return false;
  const auto which = static_cast<nla::Stream>(stream);
  const std::uint64_t left = pipe.dropped ? 0 : pipe.written - pipe.read;
  if (left > 0) {
    if (node.output_credit == 0) return false;
    const std::uint64_t most = std::min<std::uint64_t>({left, node.output_credit, kMaxPiece});
    const Chunk bytes = stream_bytes(mix(rank, static_cast<std::uint64_t>(stream)), pipe.read,
                                     random_.between(1, most));
    pipe.read += bytes.size();
    node.output_credit -= bytes.size();
    give(index, event::RankOutput{rank, which, bytes});
    return true;
  }
  if (!pipe.dropped && held_open(rank)) return false;
  pipe.end_given = true;
  give(index, event::RankStreamEnded{rank, which});
  return true;
}

void World::want_taken(std::uint32_t index) {
  Node& node = nodes_[index];
  if (node.taking || node.state != State::running) return;
  if (!node.own.intersects(schedule_.stdin_ranks)) return;
  node.taking = true;
  tasks_.add(now_ + random_.below(200), TaskKind::stdin_taken, index);
}

void World::stdin_taken(std::uint32_t index) {
  Node& node = nodes_[index];
  node.taking = false;
  std::uint64_t least = node.input;
  for (const Rank rank : node.ranks) {
    if (!schedule_.stdin_ranks.contains(rank) || ranks_[rank].life == Life::over) continue;
    least = std::min(least, ranks_[rank].input_read + kPipe);
  }
  if (least <= node.input_taken) return;
  node.input_taken = least;
  give(index, event::StdinTaken{least});
}

void World::want_stdin() {
  if (input_scheduled_ || input_ended_) return;
  input_scheduled_ = true;
  tasks_.add(now_ + random_.below(500), TaskKind::stdin_more);
}

void World::stdin_more() {
  const std::uint64_t left = schedule_.stdin_bytes - input_given_;
  const std::uint64_t most = std::min<std::uint64_t>({left, input_credit_, kMaxPiece});
  if (left == 0) {
    input_ended_ = true;
    return give(0, event::StdinRead{Chunk(), true});
  }
  if (most == 0) return;
  const Chunk bytes = stream_bytes(~std::uint64_t{0}, input_given_, random_.between(1, most));
  input_given_ += bytes.size();
  input_credit_ -= bytes.size();
  give(0, event::StdinRead{bytes, false});
  want_stdin();
}

}  // namespace scela::sim
