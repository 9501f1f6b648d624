// The thesis's two exchanges of business cards (section 3.2) over real agent cores, undisturbed and
// under a simple model of time: every agent serves one message after the other.
//
// In each stage every rank puts its pairs, enters a fence and, once released, gets the first pair
// of each of its peers one after the other: of its two neighbours (1:2) or of all ranks (1:p). What
// is counted are the messages of puts, fences and gets at every agent, for comparison with the
// closed forms of docs/design/caches.md, and the time from the first put to the last answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/policy.h"

namespace scela::sim {

// Microseconds. Of an agent: each message that it receives or sends and each byte of it, each
// request of a rank and its answer; of the network: each message's way.
struct ExchangeCosts {
  double message = 0;
  double byte = 0;
  double request = 0;
  double hop = 0;
};

struct Exchange {
  cache::PolicyKind policy = cache::PolicyKind::hcmab;
  std::uint64_t limit = 0;
  std::uint32_t hosts = 1;
  std::uint32_t ranks_per_host = 1;
  std::uint32_t degree = 1;
  std::uint32_t stages = 1;
  std::uint32_t pairs = 1;       // a rank puts per stage
  std::uint32_t value_size = 0;  // bytes; keys are of key_of_card's length
  bool all = false;              // 1:p, else 1:2
  // Every so many hosts one has a real table where tables are large, the others count what one
  // would hold (counting_policy.h); 1: all.
  std::uint32_t sample = 1;
  ExchangeCosts costs;
};

// Trees of many shapes, both patterns, small enough to be compared with the closed forms at every
// agent.
std::vector<Exchange> small_exchanges(cache::PolicyKind policy);

struct Counts {
  std::uint64_t puts_from_children = 0;
  std::uint64_t aggregates_from_children = 0;
  std::uint64_t gets_from_children = 0;
  std::uint64_t gets_to_children = 0;
  std::uint64_t sent_up = 0;
  std::uint64_t spread_down = 0;  // messages with pairs for owners below
  std::uint64_t releases_down = 0;
  std::uint64_t answers_down = 0;
  std::uint64_t answers_from_children = 0;
  std::uint64_t pair_bytes_up = 0;    // received from children: keys and values, with their lengths
  std::uint64_t pair_bytes_down = 0;  // sent to children, likewise
  std::uint64_t cache_bytes = 0;      // held at the end
  std::uint64_t peak_bytes = 0;       // at most held besides, for later
  bool operator==(const Counts&) const = default;
};

struct Outcome {
  std::vector<Counts> nodes;  // [0]: the root, [1 + host]
  double microseconds = 0;
  std::uint64_t answered = 0;  // gets, each with the right value
  std::string wrong;           // the first thing that was
};

std::string key_of_card(std::uint32_t rank, std::uint32_t pair, std::uint32_t stage);
Outcome run(const Exchange& exchange);

}  // namespace scela::sim
