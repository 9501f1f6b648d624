// Replaces the policies that keep the pairs of all ranks on every node, in trees so large that real
// tables would not fit into one machine (10,000 agents with 80,000 pairs each: some 80 GB).
//
// What a node's own ranks put goes through the real policy, so that what travels up is its. What
// a release brings is counted and put into one table that all agents of the simulation share, which
// answers their gets. So messages, bytes and answers are the real policy's, and usage() is, at
// any time when no fence is under way, in jobs that put every key once and as many bytes in every
// stage. exchange_test.cpp compares both on small trees, and on a sample of a large one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cache/policy.h"

namespace scela::sim {

class SharedTable {
 public:
  // Pairs of a release: remembered if they are new. What they amount to.
  cache::Usage add(std::string_view pairs);
  const std::string* find(std::string_view key) const;

 private:
  // A piece is known by its first bytes and its size: no key is put twice.
  std::unordered_map<std::string, cache::Usage> pieces_;
  std::unordered_map<std::string, std::string> values_;
};

// A policy of this kind that counts; nullptr where the real one is small enough.
std::unique_ptr<cache::Policy> make_counting_policy(cache::PolicyKind kind,
                                                    const cache::Place& place, SharedTable& table);

}  // namespace scela::sim
