#include "comm-channel/shm/node_system.h"

namespace scela::channel::shm {

namespace {

// How often poll() may find a cell reserved before the system is asked about its owner.
constexpr std::uint32_t kTriesPerQuestion = 4096;

}  // namespace

bool NodeSystem::gone(std::uint32_t rank, std::uint32_t tries) {
  if (rank >= segment_.shape().ranks) return true;
  if (deaths_.is_known(rank)) return true;
  return (tries + 1) % kTriesPerQuestion == 0 && deaths_.find_out(rank);
}

bool NodeSystem::make_box(std::uint32_t number) {
  if (!segment_.allocate_box(self_, number)) return false;
  ++boxes_made_;
  return true;
}

std::uint64_t NodeSystem::bytes() const {
  const Shape& shape = segment_.shape();
  return Segment::bytes_of_rank(shape, false) +
         std::uint64_t{boxes_made_} * (shape.box_lines * kLineBytes + shape.box_bytes);
}

}  // namespace scela::channel::shm
