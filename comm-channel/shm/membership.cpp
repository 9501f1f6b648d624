#include "comm-channel/shm/membership.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <bit>

#include "comm-channel/shm/processes.h"
#include "common/os/affinity.h"

namespace scela::channel::shm {

Membership::Membership(const Segment& segment, std::uint32_t rank)
    : segment_(segment),
      rank_(rank),
      probe_(std::make_unique<const std::uint64_t>(
          Processes::probe_value(segment.place().nonce, rank))) {}

// Marks the rank as left before its probe is gone.
Membership::~Membership() {
  segment_.member(rank_).joined.store(kLeft, std::memory_order_release);
}

void Membership::join(bool has_barrier) {
  // If only a process's ancestors may look at it (yama), this lets the other ranks do so as well.
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  Member& member = segment_.member(rank_);
  member.pid = ::getpid();
  member.started = start_of(member.pid);
  member.probe = reinterpret_cast<std::uint64_t>(probe_.get());
  member.barrier = has_barrier ? 1 : 0;
  for (const int cpu : allowed_cpus())
    if (static_cast<std::uint32_t>(cpu) < kCpuWords * 64)
      member.cpus[static_cast<std::uint32_t>(cpu) / 64] |= std::uint64_t{1} << (cpu % 64);
  member.joined.store(kJoined, std::memory_order_release);
}

bool Membership::has_barrier(std::uint32_t rank) const {
  const Member& member = segment_.member(rank);
  return member.joined.load(std::memory_order_acquire) != 0 && member.barrier != 0;
}

std::vector<int> Membership::processors_of(std::uint32_t rank) const {
  std::vector<int> processors;
  const Member& member = segment_.member(rank);
  if (member.joined.load(std::memory_order_acquire) == 0) return processors;
  for (std::uint32_t cpu = 0; cpu < kCpuWords * 64; ++cpu)
    if ((member.cpus[cpu / 64] >> (cpu % 64) & 1) != 0) processors.push_back(static_cast<int>(cpu));
  return processors;
}

bool Membership::is_crowded() const {
  const auto& own = segment_.member(rank_).cpus;
  const auto count = [](const auto& cpus) {
    int total = 0;
    for (const std::uint64_t word : cpus)
      total += std::popcount(word);
    return total;
  };
  const int here = count(own);
  if (here == 0) return false;  // its processors are not known
  double load = 0;
  for (std::uint32_t peer = 0; peer < segment_.shape().ranks; ++peer) {
    std::array<std::uint64_t, kCpuWords> both = segment_.member(peer).cpus;
    const int all = count(both);
    for (std::uint32_t i = 0; i < kCpuWords; ++i)
      both[i] &= own[i];
    if (all != 0) load += static_cast<double>(count(both)) / all;
  }
  return load > here + 1e-6;
}

}  // namespace scela::channel::shm
