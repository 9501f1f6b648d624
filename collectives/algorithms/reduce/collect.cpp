#include "collectives/algorithms/reduce/collect.h"

#include <algorithm>
#include <utility>

namespace scela::collectives {

namespace {

// Two rows let the next contribution come while the list waits for one.
constexpr std::size_t kRows = 2;

}  // namespace

std::vector<Collected> outwards(const Shape& shape) {
  std::vector<Collected> sources;
  for (int rank = shape.root - 1; rank >= 0; --rank)
    sources.push_back({rank, true});
  for (int rank = shape.root + 1; rank < shape.ranks; ++rank)
    sources.push_back({rank, false});
  return sources;
}

Collector::Collector(Writer& list, std::vector<Collected> sources, Space own, Space result,
                     std::uint32_t segments)
    : list_(list),
      sources_(std::move(sources)),
      posted_(sources_.size(), 0),
      own_(own),
      result_(result),
      segments_(segments),
      direct_(own != result) {}

std::uint32_t Collector::scratch_blocks() const {
  const std::size_t in_rows = sources_.size() - (direct_ && !sources_.empty() ? 1 : 0);
  const std::size_t rows = std::min(kRows, in_rows) + (result_ == Space::scratch ? 1 : 0);
  return static_cast<std::uint32_t>(rows) * segments_;
}

Blocks Collector::target(std::size_t source, std::uint32_t segment) const {
  if (is_direct(source)) return result(segment);
  const std::size_t rows = row(source) % kRows + (result_ == Space::scratch ? 1 : 0);
  return scratch(static_cast<std::uint32_t>(rows) * segments_ + segment, 1);
}

void Collector::post(std::size_t source, std::uint32_t segment) {
  if (source >= sources_.size() || segment >= segments_ || posted_[source] != segment) return;
  ++posted_[source];
  list_.receive(sources_[source].peer, target(source, segment));
}

// Posts receives of the segment from the first sources, which need no row that another source used
// before.
void Collector::post_first(std::uint32_t segment) {
  for (std::size_t source = 0; source < kRows + (direct_ ? 1 : 0); ++source)
    post(source, segment);
}

void Collector::take(std::size_t source, std::uint32_t segment) {
  list_.wait_received(sources_[source].peer, 1);
  const Blocks own{own_, segment, 1};
  const Blocks came = target(source, segment);
  const bool left = sources_[source].left;
  if (is_direct(source))
    left ? list_.reduce_right(own, came) : list_.reduce_left(own, came);
  else
    left ? list_.reduce_left(came, result(segment)) : list_.reduce_right(came, result(segment));
}

void Collector::collect(std::uint32_t segment) {
  if (sources_.empty() && own_ != result_) list_.copy({own_, segment, 1}, result(segment));
  post_first(segment);
  post_first(segment + 1);
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    take(source, segment);
    // This source uses the row that has just been read.
    post(source + kRows, segment);
  }
}

}  // namespace scela::collectives
