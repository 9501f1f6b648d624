#include "common/os/affinity.h"

#include <cerrno>
#include <climits>

namespace scela {

namespace {
constexpr int kWordBits = static_cast<int>(sizeof(unsigned long)) * CHAR_BIT;
// More processors than any kernel is built for (NR_CPUS is at most 8192).
constexpr std::size_t kMostWords = 65536 / kWordBits;
}  // namespace

CpuMask::CpuMask(const std::vector<int>& cpus) {
  for (const int cpu : cpus) {
    const auto word = static_cast<std::size_t>(cpu / kWordBits);
    if (word >= words_.size()) words_.resize(word + 1);
    words_[word] |= 1ul << (cpu % kWordBits);
  }
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  // The kernel refuses a mask smaller than its own.
  for (std::size_t words = 1024 / kWordBits; words <= kMostWords; words *= 4) {
    std::vector<unsigned long> mask(words);
    if (::sched_getaffinity(0, words * sizeof(unsigned long),
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

std::vector<int> share_of(const std::vector<int>& cpus, std::uint32_t index, std::uint32_t count) {
  if (cpus.empty() || count <= 1) return cpus;
  const std::size_t have = cpus.size();
  if (count >= have) return {cpus[index % have]};
  const auto begin = static_cast<std::ptrdiff_t>(have * index / count);
  const auto end = static_cast<std::ptrdiff_t>(have * (index + std::size_t{1}) / count);
  return {cpus.begin() + begin, cpus.begin() + end};
}

int cpu_for(const std::vector<int>& share, std::uint32_t index) {
  return share[index % share.size()];
}

}  // namespace scela
