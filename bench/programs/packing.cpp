// Measures what packing pieces of a fence costs and saves, by their size (nla/core/wire/packing.h).
//
//   packing PAIRS-FILE
//
// The file holds an aggregate of pairs, as bench/pmi_pairs.py records one from a real program. Each
// line has the bytes, the packed bytes, the time of packing and unpacking (the least of many), and
// the speed of a link for which both take as long as the bytes that they save.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "nla/core/wire/packing.h"

namespace {

constexpr int kRepeat = 300;

template <class F>
double least_us(F&& work) {
  double least = 1e9;
  for (int i = 0; i < kRepeat; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    least = std::min(least, took.count());
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: packing PAIRS-FILE\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string pairs((std::istreambuf_iterator<char>(file)), {});
  if (pairs.empty()) {
    std::fprintf(stderr, "packing: %s: no pairs could be read\n", argv[1]);
    return 1;
  }
  std::printf("| bytes | packed | ratio | pack, us | unpack, us | worth it up to, MB/s |\n");
  std::printf("|---|---|---|---|---|---|\n");
  for (std::size_t size = scela::nla::kPackFrom; size <= pairs.size(); size *= 2) {
    const std::string piece = pairs.substr(0, size);
    std::string packed;
    const double pack_us = least_us([&] { packed = scela::nla::pack(piece); });
    if (packed.empty()) {
      std::printf("| %zu | not worth it | | %.2f | | |\n", size, pack_us);
      continue;
    }
    const double unpack_us = least_us([&] { static_cast<void>(scela::nla::unpack(packed)); });
    std::printf("| %zu | %zu | %.2f | %.2f | %.2f | %.0f |\n", size, packed.size(),
                static_cast<double>(size) / static_cast<double>(packed.size()), pack_us, unpack_us,
                static_cast<double>(size - packed.size()) / (pack_us + unpack_us));
  }
}
