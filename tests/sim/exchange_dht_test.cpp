// The exchanges under the policy dht: messages, bytes and what is held equal the closed forms of
// docs/design/caches.md at every agent. Which pairs cross a link follows from their owners,
// computed here by the same hash and nothing else of the agents.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "cache/dht.h"
#include "common/core/kary_tree.h"
#include "common/core/text.h"
#include "tests/sim/exchange_model.h"

namespace scela::sim::exchange_dht_test {
namespace {

struct Agent {  // [0]: the root, which has no ranks; [1 + host]
  Slice slice;  // of hosts, itself included
  std::size_t parent = 0;
  std::vector<std::size_t> children;
};

void walk(std::vector<Agent>& agents, std::size_t at, Slice below, std::uint32_t degree) {
  for (const Slice& child : split(below, degree)) {
    const std::size_t one = child.first + 1;
    agents[at].children.push_back(one);
    agents[one].slice = child;
    agents[one].parent = at;
    walk(agents, one, {child.first + 1, child.end}, degree);
  }
}

// One key of a stage: the host of its putter, of its owner, and the hosts with ranks that ask.
struct Card {
  std::uint32_t putter = 0;
  std::uint32_t owner = 0;
  std::set<std::uint32_t> askers;

  bool asked_in(const Slice& slice) const {
    const auto at = askers.lower_bound(slice.first);
    return at != askers.end() && *at < slice.end;
  }
  bool asked_outside(const Slice& slice) const {
    return *askers.begin() < slice.first || *askers.rbegin() >= slice.end;
  }
  // Questions that cross the link above the slice.
  bool asked_up(const Slice& slice) const { return !slice.contains(owner) && asked_in(slice); }
  bool asked_down(const Slice& slice) const {
    return slice.contains(owner) && !askers.empty() && asked_outside(slice);
  }
};

std::vector<Card> cards_of(const Exchange& e, std::uint32_t stage) {
  const std::uint32_t p = e.hosts * e.ranks_per_host;
  std::vector<Card> cards;
  for (Rank rank = 0; rank < p; ++rank) {
    for (std::uint32_t pair = 0; pair < e.pairs; ++pair) {
      Card card;
      card.putter = rank / e.ranks_per_host;
      card.owner = cache::owner_of(key_of_card(rank, pair, stage), p) / e.ranks_per_host;
      for (Rank other = 0; pair == 0 && other < p; ++other) {
        const bool beside = other == (rank + 1) % p || rank == (other + 1) % p;
        if (e.all || beside) card.askers.insert(other / e.ranks_per_host);
      }
      cards.push_back(std::move(card));
    }
  }
  return cards;
}

// Agents above `child`, the root included, that put pairs together for it: pairs of their subtree
// that are for owners in the child's, and came from elsewhere than the branch which leads there.
std::uint64_t spreaders(const std::vector<Agent>& agents, std::size_t child,
                        const std::vector<Card>& cards) {
  std::uint64_t count = 0;
  std::size_t branch = child;
  do {
    const std::size_t above = agents[branch].parent;
    count += std::any_of(cards.begin(), cards.end(), [&](const Card& card) {
      return agents[child].slice.contains(card.owner) &&
             agents[above].slice.contains(card.putter) &&
             !agents[branch].slice.contains(card.putter);
    });
    branch = above;
  } while (branch != 0);
  return count;
}

void check(const Exchange& e) {
  INFO(e.hosts << " x " << e.ranks_per_host << ", degree " << e.degree << ", " << e.stages
               << " stages, " << (e.all ? "1:p" : "1:2"));
  const Outcome outcome = run(e);
  REQUIRE(outcome.wrong == "");
  std::vector<Agent> agents(e.hosts + 1);
  agents[0].slice = {0, e.hosts};
  walk(agents, 0, {0, e.hosts}, e.degree);
  const std::uint64_t held_bytes = key_of_card(0, 0, 0).size() + e.value_size;
  const std::uint64_t pair_bytes = held_bytes + 1 + (e.value_size < 128 ? 1 : 2);
  std::vector<Counts> expected(e.hosts + 1);
  for (std::uint32_t stage = 0; stage < e.stages; ++stage) {
    const std::vector<Card> cards = cards_of(e, stage);
    for (std::size_t at = 0; at < agents.size(); ++at) {
      const Agent& agent = agents[at];
      Counts& want = expected[at];
      for (const std::size_t child : agent.children) {
        const Slice& slice = agents[child].slice;
        std::uint64_t up = 0, down = 0, asked_up = 0, asked_down = 0;
        for (const Card& card : cards) {
          up += slice.contains(card.putter) && !slice.contains(card.owner);
          down += !slice.contains(card.putter) && slice.contains(card.owner);
          asked_up += card.asked_up(slice);
          asked_down += card.asked_down(slice);
        }
        ++want.aggregates_from_children;
        ++want.releases_down;
        want.spread_down += spreaders(agents, child, cards);
        want.gets_from_children += asked_up;
        want.answers_down += asked_up;
        want.gets_to_children += asked_down;
        want.answers_from_children += asked_down;
        want.pair_bytes_up += (up + asked_down) * pair_bytes;
        want.pair_bytes_down += (down + asked_up) * pair_bytes;
        expected[child].sent_up += 1 + asked_up + asked_down;
      }
      for (const Card& card : cards) {
        const bool owns = at != 0 && card.owner + 1 == at;
        // A copy, where a question or an answer came by or to its end, since the last fence.
        bool copies = at != 0 && (card.askers.contains(static_cast<std::uint32_t>(at - 1)) ||
                                  card.asked_down(agent.slice));
        for (const std::size_t child : agent.children)
          copies = copies || card.asked_up(agents[child].slice);
        if (owns || (copies && stage + 1 == e.stages)) want.cache_bytes += held_bytes;
      }
    }
  }
  for (std::size_t at = 0; at < agents.size(); ++at) {
    INFO("node " << at);
    const Counts& got = outcome.nodes[at];
    const Counts& want = expected[at];
    CHECK(got.puts_from_children == 0);
    CHECK(got.aggregates_from_children == want.aggregates_from_children);
    CHECK(got.releases_down == want.releases_down);
    CHECK(got.spread_down == want.spread_down);
    CHECK(got.gets_from_children == want.gets_from_children);
    CHECK(got.gets_to_children == want.gets_to_children);
    CHECK(got.answers_down == want.answers_down);
    CHECK(got.answers_from_children == want.answers_from_children);
    CHECK(got.sent_up == want.sent_up);
    CHECK(got.pair_bytes_up == want.pair_bytes_up);
    CHECK(got.pair_bytes_down == want.pair_bytes_down);
    CHECK(got.cache_bytes == want.cache_bytes);
  }
}

// Returns the same numbers for one exchange 1:2, in a time that grows with cards and depth only. It
// leaves out those of aggregates, which take several pieces near the root.
std::vector<Counts> expected_of_large(const std::vector<Agent>& agents, const Exchange& e,
                                      std::uint64_t held_bytes, std::uint64_t pair_bytes) {
  const std::uint32_t p = e.hosts * e.ranks_per_host;
  std::vector<Counts> expected(agents.size());
  // Calls `each` for every agent from `host` up until a slice satisfies `enough`.
  const auto climb = [&](std::uint32_t host, auto enough, auto each) {
    for (std::size_t at = host + 1; at != 0 && !enough(agents[at].slice); at = agents[at].parent)
      each(at, agents[at].parent);
  };
  for (Rank rank = 0; rank < p; ++rank) {
    Card card;
    card.putter = rank / e.ranks_per_host;
    card.owner = cache::owner_of(key_of_card(rank, 0, 0), p) / e.ranks_per_host;
    card.askers = {(rank + 1) % p / e.ranks_per_host, (rank + p - 1) % p / e.ranks_per_host};
    std::set<std::size_t> asked_up, holders{card.owner + std::size_t{1}};
    const auto owned = [&](const Slice& slice) { return slice.contains(card.owner); };
    for (const std::uint32_t asker : card.askers) {
      holders.insert(asker + 1);
      climb(asker, owned, [&](std::size_t at, std::size_t above) {
        asked_up.insert(at);
        holders.insert(above);
      });
    }
    for (const std::size_t at : asked_up) {
      Counts& above = expected[agents[at].parent];
      ++above.gets_from_children;
      ++above.answers_down;
      above.pair_bytes_down += pair_bytes;
    }
    const auto inside = [&](const Slice& slice) { return !card.asked_outside(slice); };
    climb(card.owner, inside, [&](std::size_t at, std::size_t above) {
      holders.insert(at);
      ++expected[above].gets_to_children;
      ++expected[above].answers_from_children;
      expected[above].pair_bytes_up += pair_bytes;
    });
    climb(card.putter, owned,
          [&](std::size_t, std::size_t above) { expected[above].pair_bytes_up += pair_bytes; });
    const auto put_here = [&](const Slice& slice) { return slice.contains(card.putter); };
    climb(card.owner, put_here,
          [&](std::size_t, std::size_t above) { expected[above].pair_bytes_down += pair_bytes; });
    for (const std::size_t at : holders)
      expected[at].cache_bytes += held_bytes;
  }
  return expected;
}

}  // namespace

TEST_CASE("dht: thousands of agents exchange 1:2, counted as the closed forms say") {
  Exchange e;
  e.policy = cache::PolicyKind::dht;
  e.hosts = SCELA_SIM_AGENTS;
  e.limit = 4 << 20;  // near the root the default evicts copies, and asks for some again
  e.ranks_per_host = 8;
  e.degree = 16;
  e.value_size = 20;
  const Outcome outcome = run(e);
  REQUIRE(outcome.wrong == "");
  CHECK(outcome.answered == std::uint64_t{e.hosts} * e.ranks_per_host * 2);
  std::vector<Agent> agents(e.hosts + 1);
  agents[0].slice = {0, e.hosts};
  walk(agents, 0, {0, e.hosts}, e.degree);
  const std::uint64_t held_bytes = key_of_card(0, 0, 0).size() + e.value_size;
  const auto expected = expected_of_large(agents, e, held_bytes, held_bytes + 2);
  for (std::size_t at = 0; at < agents.size(); ++at) {
    INFO("node " << at);
    const Counts& got = outcome.nodes[at];
    const Counts& want = expected[at];
    CHECK(got.gets_from_children == want.gets_from_children);
    CHECK(got.gets_to_children == want.gets_to_children);
    CHECK(got.answers_down == want.answers_down);
    CHECK(got.answers_from_children == want.answers_from_children);
    CHECK(got.pair_bytes_up == want.pair_bytes_up);
    CHECK(got.pair_bytes_down == want.pair_bytes_down);
    CHECK(got.cache_bytes == want.cache_bytes);
  }
}

TEST_CASE(
    "dht: messages, bytes and memory of both exchanges are the closed forms, at every agent") {
  for (const Exchange& e : small_exchanges(cache::PolicyKind::dht))
    check(e);
}

}  // namespace scela::sim::exchange_dht_test
