#include "common/os/affinity.h"

#include <cerrno>
#include <climits>

namespace scela {

namespace {
constexpr int kWordBits = static_cast<int>(sizeof(unsigned long)) * CHAR_BIT;
// Words for more processors than any kernel is built for (NR_CPUS is at most 8192).
constexpr std::size_t kMaxWords = 65536 / kWordBits;
}  // namespace

void CpuMask::add(int cpu) {
  const auto word = static_cast<std::size_t>(cpu / kWordBits);
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= 1ul << (cpu % kWordBits);
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
