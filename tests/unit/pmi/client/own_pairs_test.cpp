#include "pmi/client/own_pairs.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

namespace own_pairs_test {

using scela::pmi::client::OwnPairs;

TEST_CASE("threads of a process without a launcher find what each has put") {
  constexpr int kThreads = 4;
  constexpr int kPairs = 200;
  OwnPairs pairs;
  std::vector<std::thread> threads;
  std::vector<int> found(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&pairs, &count = found[static_cast<std::size_t>(thread)], thread] {
      for (int i = 0; i < kPairs; ++i) {
        const std::string key = std::to_string(thread) + "-" + std::to_string(i);
        pairs.put(key, "of " + key);
        count += pairs.find(key) == "of " + key;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(found == std::vector<int>(kThreads, kPairs));
  CHECK(pairs.take().size() == kThreads * kPairs);
  CHECK_FALSE(pairs.find("0-0"));
}

}  // namespace own_pairs_test
