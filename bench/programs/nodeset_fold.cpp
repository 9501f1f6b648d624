// Prints how long 100,000 node names take to become a set and its folded text, per kind of name.
// The target is 50 ms for each kind (docs/results/launch.md).
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "common/core/nodeset/nodeset.h"
#include "common/core/random.h"
#include "common/core/text.h"

namespace {

using scela::cat;
using scela::NodeSet;
using scela::Random;

constexpr std::size_t kNames = 100'000;
constexpr int kRounds = 9;

std::vector<std::string> make(const std::function<std::string(std::size_t)>& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kNames; ++i)
    names.push_back(name(i));
  return names;
}

double milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void report(const char* kind, const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names)
    list += cat(list.empty() ? "" : ",", name);
  std::vector<double> build;
  std::vector<double> parse;
  std::vector<double> fold;
  std::vector<double> total;
  std::string text;
  NodeSet set;
  for (int i = 0; i < kRounds; ++i) {
    set = NodeSet();  // so that no round pays for the end of the one before
    build.push_back(milliseconds([&] { set = NodeSet::from_names(names).value(); }));
    fold.push_back(milliseconds([&] { text = set.fold(); }));
    total.push_back(build.back() + fold.back());
    set = NodeSet();
    parse.push_back(milliseconds([&] { set = NodeSet::parse(list).value(); }));
  }
  const auto median = [](std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  };
  const double middle = median(total);
  std::printf("%-28s %8zu %10zu %8.1f %8.1f %8.1f %8.1f %8.1f\n", kind, set.size(), text.size(),
              median(build), median(fold), middle, total.front(), median(parse));
}

}  // namespace

int main() {
  std::printf("%-28s %8s %10s %8s %8s %8s %8s %8s\n", "100,000 names (times in ms)", "nodes",
              "text bytes", "build", "fold", "both", "best", "parse");
  Random random(1);
  const auto word = [&](std::size_t) {
    std::string name;
    for (int i = 0; i < 10; ++i)
      name += static_cast<char>('a' + random.below(26));
    return name;
  };
  const auto hex = [&](std::size_t) {
    std::string name;
    for (int i = 0; i < 10; ++i)
      name += "0123456789abcdef"[random.below(16)];
    return name;
  };
  report("regular", make([](std::size_t i) { return cat("node", i + 1); }));
  report("regular, padded, backwards",
         make([](std::size_t i) { return cat("node", 1'000'000 + kNames - i); }));
  report("random digits", make([&](std::size_t) { return cat("n", random.below(10'000'000)); }));
  report("random words", make(word));
  report("random hexadecimal", make(hex));
  report("2-D, regular", make([](std::size_t i) { return cat("rack", i / 100, "n", i % 100); }));
  report("2-D, one in ten of a square",
         make([&](std::size_t) { return cat("r", random.below(1000), "n", random.below(1000)); }));
  report("2-D, unfoldable", make([&](std::size_t i) {
           return cat("r", i, "n", (i * 7919 + random.below(3)) % 1'000'003);
         }));
  report("2-D, half of all racks",
         make([&](std::size_t) { return cat("r", random.below(20'000), "n", random.below(10)); }));
  report("3-D, unfoldable", make([&](std::size_t) {
           return cat("r", random.below(100'000), "c", random.below(100'000), "n",
                      random.below(100'000));
         }));
  report("4-D, half full", make([&](std::size_t) {
           return cat("a", random.below(20), "b", random.below(20), "c", random.below(20), "d",
                      random.below(20));
         }));
  report("IPv4", make([&](std::size_t) {
           return cat("10.", random.below(4), ".", random.below(256), ".", random.below(256));
         }));
  return 0;
}
