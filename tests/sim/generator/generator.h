// How make_schedule() draws: the tree and the job (generate.cpp), what ranks do
// (generate_program.cpp), what goes wrong (generate_faults.cpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/core/random.h"
#include "tests/sim/generator/generate.h"

namespace scela::sim {

class Generator {
 public:
  Generator(std::uint64_t seed, const Limits& limits);
  Schedule make();

 private:
  std::uint32_t number(std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint32_t>(random_.between(low, high));
  }
  Rank any_rank() { return static_cast<Rank>(random_.below(ranks_)); }
  std::uint32_t any_host() { return static_cast<std::uint32_t>(random_.below(plan_.hosts)); }

  // The tree and the job.
  void choose_shape();
  void place_irregularly(std::uint32_t per_node);
  void choose_pace();
  void choose_job();
  RankSet subset();

  // These draw the program of the ranks.
  RankSet members(std::uint64_t most);
  std::uint32_t payload_size(std::uint64_t most);
  Op& add(OpKind kind, Rank rank);
  Op& add_collective(nla::CollectiveKind what, RankSet set);
  void random_collective();
  void puts_and_gets(bool early);
  void gets();
  void messages();
  void names();
  void local_step();
  void big_program();
  void choose_program();
  void choose_spawns();
  void spawned_program(Random& random, Rank first, std::uint32_t size);

  // These draw the faults.
  Micros fault_time();
  void choose_faults();
  void start_faults();
  void timed_fault();
  void rank_death();
  void stubborn_ranks();
  void user();
  void choose_leftovers();
  void choose_adoption();
  void choose_terminal();
  void choose_odd_tree();
  void choose_turns();
  void choose_growth();
  void lose_parent_of(Fault fault);
  void write_slowly();
  std::uint32_t inner_host();

  Random random_;
  Limits limits_;
  Schedule plan_;
  Rank ranks_ = 0;
  std::uint32_t next_id_ = 1;
  bool owes_fence_ = false;  // a get waits for a pair that no fence of all ranks has taken yet
  std::vector<std::pair<Rank, std::uint32_t>> puts_;
};

}  // namespace scela::sim
