#include "hca/core/transfer/kept_bytes.h"

namespace scela::hca {
namespace {

// The limits in bytes for each process. If nothing else of its queue pair waits, a message is
// admitted up to twice kMaxRequests. So frames that wait for long do not keep out small messages
// of others.
constexpr std::uint64_t kMaxRequests = 32 * 1024 * 1024;
constexpr std::uint64_t kMaxFirst = 2 * kMaxRequests;
constexpr std::uint64_t kMaxAnswers = 64 * 1024 * 1024;
constexpr std::uint64_t kMaxMoves = 64 * 1024 * 1024;

}  // namespace

const std::shared_ptr<Keeping>& KeptBytes::kept_for(ProcessId process) const {
  const Attached* const found = objects_.find_process(process);
  return found ? found->keeping : of_departed_;
}

bool KeptBytes::would_exceed(ProcessId process, RoomFor what, std::uint64_t bytes) const {
  const Keeping& kept = *kept_for(process);
  switch (what) {
    case RoomFor::requests:
      return kept.requests + bytes > kMaxRequests;
    case RoomFor::answers:
      return kept.answers + bytes > kMaxAnswers;
    case RoomFor::moves:
      return kept.moves + bytes > kMaxMoves;
  }
  return false;
}

bool KeptBytes::has_room(ProcessId process, RoomFor what) const {
  const Keeping& kept = *kept_for(process);
  switch (what) {
    case RoomFor::requests:
      return kept.requests < kMaxFirst;
    case RoomFor::answers:
      return kept.answers <= kMaxAnswers / 2;
    case RoomFor::moves:
      return kept.moves <= kMaxMoves / 2;
  }
  return true;
}

std::shared_ptr<std::uint64_t> KeptBytes::counter(ProcessId process, RoomFor what) const {
  const std::shared_ptr<Keeping>& kept = kept_for(process);
  switch (what) {
    case RoomFor::requests:
      return {kept, &kept->requests};
    case RoomFor::answers:
      return {kept, &kept->answers};
    case RoomFor::moves:
      break;
  }
  return {kept, &kept->moves};
}

void KeptBytes::schedule_waiting() {
  std::erase_if(waiting_, [this](const auto& waiting) {
    const auto& [what, queue_pairs] = waiting;
    if (!has_room(what.first, what.second)) return false;
    scheduler_.schedule_all(queue_pairs);
    return true;
  });
}

}  // namespace scela::hca
