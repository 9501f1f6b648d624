#include "tests/sim/rank/output.h"

#include <algorithm>

#include "common/core/text.h"
#include "tests/sim/generator/payload.h"

namespace scela::sim {

namespace action = nla::action;
namespace event = nla::event;

void Output::on(std::uint32_t index, const action::ReadOutput& action) {
  of_node_[index].credit += action.bytes;
  want_pump(index);
}

void Output::on(std::uint32_t index, const action::DropStreams&) {
  for (const Rank rank : processes_.of(index)) {
    for (Pipe& pipe : ranks_[rank].pipes) {
      if (!pipe.end_given) pipe.dropped = true;
    }
  }
  want_pump(index);
}

void Output::on(std::uint32_t index, const action::ShowOutput& action) {
  if (index != 0 || action.rank >= processes_.size())
    return run_.fail(nodes_.name(index) + " shows output");
  const auto stream = static_cast<std::size_t>(action.stream);
  Pipe& pipe = ranks_[action.rank].pipes[stream];
  const std::string what = cat("rank ", action.rank, ", stream ", stream);
  if (pipe.end_shown) return run_.fail(what + ": output after its end");
  if (!stream_has(mix(action.rank, stream), pipe.shown, action.bytes.view())) {
    return run_.fail(cat(what, ": wrong output at byte ", pipe.shown));
  }
  pipe.shown += action.bytes.size();
  pipe.end_shown = action.end;
  if (pipe.shown > pipe.read) return run_.fail(what + ": output was shown that was never read");
  if (action.bytes.empty()) return;
  run_.after(run_.random.below(run_.schedule.pace.show_max + 1), TaskKind::shown, 0, 0,
             action.bytes.size());
}

bool Output::write(Rank rank, const Op& op) {
  OfRank& own = ranks_[rank];
  Pipe& pipe = own.pipes[op.wait ? 1 : 0];
  if (own.left == 0) own.left = op.size;
  const std::uint64_t room = kPipe - (pipe.written - pipe.read);
  const std::uint64_t now = std::min(room, own.left);
  pipe.written += now;
  own.left -= now;
  if (now > 0) want_pump(processes_[rank].node);
  return own.left == 0;
}

void Output::want_pump(std::uint32_t index) {
  OfNode& node = of_node_[index];
  if (node.pumping || !nodes_.running(index)) return;
  node.pumping = true;
  run_.after(run_.random.below(50), TaskKind::pump, index);
}

void Output::pump(std::uint32_t index) {
  of_node_[index].pumping = false;
  const std::vector<Rank>& ranks = processes_.of(index);
  if (!nodes_.running(index) || ranks.empty()) return;
  const std::size_t first = run_.random.below(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Rank rank = ranks[(first + i) % ranks.size()];
    for (std::size_t stream = 0; stream < 2; ++stream) {
      if (!pump_one(index, rank, stream)) continue;
      processes_.wake(rank);
      return want_pump(index);
    }
  }
}

bool Output::pump_one(std::uint32_t index, Rank rank, std::size_t stream) {
  OfNode& node = of_node_[index];
  Pipe& pipe = ranks_[rank].pipes[stream];
  if (pipe.end_given || !processes_[rank].ran) return false;
  const auto which = static_cast<nla::Stream>(stream);
  const std::uint64_t left = pipe.dropped ? 0 : pipe.written - pipe.read;
  if (left > 0) {
    if (node.credit == 0) return false;
    const std::uint64_t most = std::min<std::uint64_t>({left, node.credit, kMaxPiece});
    const Chunk bytes = stream_bytes(mix(rank, stream), pipe.read, run_.random.between(1, most));
    pipe.read += bytes.size();
    node.credit -= bytes.size();
    agents_.give(index, event::RankOutput{rank, which, bytes});
    return true;
  }
  if (!pipe.dropped && held_open(rank)) return false;
  pipe.end_given = true;
  agents_.give(index, event::RankStreamEnded{rank, which});
  return true;
}

bool Output::held_open(Rank rank) const {
  const Process& process = processes_[rank];
  return process.alive() || leftovers_.hold_pipes_of(process.node, rank);
}

void Output::shown(std::uint64_t bytes) {
  agents_.give(0, event::OutputWritten{bytes});
}

bool Output::any_open(Rank rank) const {
  const auto& pipes = ranks_[rank].pipes;
  return std::any_of(pipes.begin(), pipes.end(), [](const Pipe& pipe) { return !pipe.end_given; });
}

std::uint64_t Output::written() const {
  std::uint64_t all = 0;
  for (const OfRank& rank : ranks_) {
    for (const Pipe& pipe : rank.pipes)
      all += pipe.written;
  }
  return all;
}

void Output::check_complete() {
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    const Process& process = processes_[rank];
    if (process.node == kNobody || !process.ran || nodes_.severed(process.node) || end_.gave_up())
      continue;
    for (std::size_t stream = 0; stream < 2; ++stream) {
      const Pipe& pipe = ranks_[rank].pipes[stream];
      if (pipe.shown == pipe.written && pipe.end_shown) continue;
      return run_.fail(cat("rank ", rank, ", stream ", stream, ": wrote ", pipe.written, ", shown ",
                           pipe.shown, pipe.end_shown ? "" : " without its end"));
    }
  }
}

}  // namespace scela::sim
