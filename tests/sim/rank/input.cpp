#include "tests/sim/rank/input.h"

#include <algorithm>

#include "tests/sim/generator/payload.h"
#include "tests/sim/rank/output.h"

namespace scela::sim {

namespace action = nla::action;
namespace event = nla::event;

void Input::on(std::uint32_t, const action::ReadStdin& action) {
  credit_ += action.bytes;
  want_more();
}

void Input::on(std::uint32_t index, const action::WriteStdin& action) {
  OfNode& node = of_node_[index];
  if (!node_jobs_.own(index).intersects(run_.schedule.stdin_ranks)) {
    return run_.fail(nodes_.name(index) +
                     " is to write standard input and has no rank that reads it");
  }
  if (node.end) return run_.fail(nodes_.name(index) + " writes standard input after its end");
  if (!stream_has(~std::uint64_t{0}, node.given, action.bytes.view())) {
    return run_.fail(nodes_.name(index) + " writes other standard input than was read");
  }
  node.given += action.bytes.size();
  node.end = action.end;
  if (action.end && node.given != run_.schedule.stdin_bytes) {
    return run_.fail(nodes_.name(index) + " ends standard input early");
  }
  for (const Rank rank : processes_.of(index))
    processes_.wake(rank);
  want_taken(index);
}

bool Input::read(Rank rank, const Op& op) {
  if (!run_.schedule.stdin_ranks.contains(rank)) return true;  // end of file at once
  const std::uint32_t index = processes_[rank].node;
  const OfNode& node = of_node_[index];
  OfRank& own = ranks_[rank];
  const std::uint64_t now = std::min(node.given - own.read, op.size - own.progress);
  own.read += now;
  own.progress += now;
  if (now > 0) want_taken(index);
  const bool at_end = node.end && own.read == node.given;
  if (own.progress < op.size && !at_end) return false;
  own.progress = 0;
  return true;
}

void Input::want_taken(std::uint32_t index) {
  OfNode& node = of_node_[index];
  if (node.taking || !nodes_.running(index)) return;
  if (!node_jobs_.own(index).intersects(run_.schedule.stdin_ranks)) return;
  node.taking = true;
  run_.after(run_.random.below(200), TaskKind::stdin_taken, index);
}

void Input::taken(std::uint32_t index) {
  OfNode& node = of_node_[index];
  node.taking = false;
  std::uint64_t least = node.given;
  for (const Rank rank : processes_.of(index)) {
    const bool reads = run_.schedule.stdin_ranks.contains(rank);
    if (!reads || processes_[rank].life == Life::over) continue;
    least = std::min(least, ranks_[rank].read + kPipe);
  }
  if (least <= node.taken) return;
  node.taken = least;
  agents_.give(index, event::StdinTaken{least});
}

void Input::want_more() {
  if (source_ != Source::waiting) return;
  source_ = Source::scheduled;
  run_.after(run_.random.below(500), TaskKind::stdin_more);
}

void Input::more() {
  source_ = Source::waiting;
  const std::uint64_t left = run_.schedule.stdin_bytes - given_;
  const std::uint64_t most = std::min<std::uint64_t>({left, credit_, kMaxPiece});
  if (left == 0) {
    source_ = Source::ended;
    return agents_.give(0, event::StdinRead{Chunk(), true});
  }
  if (most == 0) return;
  const Chunk bytes = stream_bytes(~std::uint64_t{0}, given_, run_.random.between(1, most));
  given_ += bytes.size();
  credit_ -= bytes.size();
  agents_.give(0, event::StdinRead{bytes, false});
  want_more();
}

}  // namespace scela::sim
