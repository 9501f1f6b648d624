#include "common/os/affinity.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace scela {

namespace {
constexpr int kWordBits = static_cast<int>(sizeof(unsigned long)) * CHAR_BIT;
// Words for more processors than any kernel is built for (NR_CPUS is at most 8192).
constexpr std::size_t kMaxWords = 65536 / kWordBits;
// MPOL_PREFERRED_MANY, which headers of systems before Linux 5.15 lack.
constexpr int kPreferredMany = 5;

void add_bit(std::vector<unsigned long>& words, int number) {
  const auto word = static_cast<std::size_t>(number / kWordBits);
  if (word >= words.size()) words.resize(word + 1);
  words[word] |= 1ul << (number % kWordBits);
}

int mode_of(MemoryBinding binding, bool many) {
  switch (binding) {
    case MemoryBinding::none:
      break;
    case MemoryBinding::local:
      return MPOL_BIND;
    case MemoryBinding::prefer:
      return many ? kPreferredMany : MPOL_PREFERRED;
    case MemoryBinding::interleave:
      return MPOL_INTERLEAVE;
  }
  return MPOL_DEFAULT;
}
}  // namespace

MemoryPolicy::MemoryPolicy(MemoryBinding binding, const DomainSet& domains)
    : mode_(mode_of(binding, domains.size() > 1)) {
  domains.for_each([this](std::uint32_t domain) { add_bit(words_, static_cast<int>(domain)); });
}

bool MemoryPolicy::set() const {
  // The kernel counts one bit less than it is told.
  const std::size_t bits = words_.size() * static_cast<std::size_t>(kWordBits) + 1;
  if (::syscall(SYS_set_mempolicy, mode_, words_.data(), bits) == 0) return true;
  // Linux before 5.15 cannot prefer several domains. Its default prefers the one of the processor
  // on which the process runs.
  return mode_ == kPreferredMany && errno == EINVAL;
}

void CpuMask::add(int cpu) {
  add_bit(words_, cpu);
}

CpuMask::CpuMask(const std::vector<int>& cpus) {
  for (const int cpu : cpus)
    add(cpu);
}

CpuMask::CpuMask(const RankSet& cpus) {
  cpus.for_each([this](std::uint32_t cpu) { add(static_cast<int>(cpu)); });
}

std::vector<int> allowed_cpus(pid_t process) {
  std::vector<int> cpus;
  // The kernel refuses a mask smaller than its own.
  for (std::size_t words = 1024 / kWordBits; words <= kMaxWords; words *= 4) {
    std::vector<unsigned long> mask(words);
    if (::sched_getaffinity(process, words * sizeof(unsigned long),
                            reinterpret_cast<cpu_set_t*>(mask.data())) != 0) {
      if (errno == EINVAL) continue;
      return cpus;
    }
    for (std::size_t word = 0; word < words; ++word) {
      for (int bit = 0; bit < kWordBits; ++bit) {
        if (mask[word] >> bit & 1) cpus.push_back(static_cast<int>(word) * kWordBits + bit);
      }
    }
    return cpus;
  }
  return cpus;
}

}  // namespace scela
