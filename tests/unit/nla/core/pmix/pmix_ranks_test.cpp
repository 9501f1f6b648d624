#include "nla/core/pmix/pmix_ranks.h"

#include <catch2/catch.hpp>
#include <vector>

namespace pmix_ranks_test {

using namespace scela;
using namespace scela::nla;
using pmix::ProcessState;

namespace {

struct Fixture {
  explicit Fixture(OnFailure on_failure) { job.on_failure = on_failure; }
  void end(Rank rank, std::int32_t code = 0) {
    ranks.ended(rank);
    ranks.note_end({rank, 0, ProcessState::exited, code});
  }
  Job job;
  RankSet own = RankSet::run(2, 3);
  RankSet leaving;
  std::vector<Rank> stand_ins;
  PmixRanks ranks{job, own, [this](Rank rank) { return leaving.contains(rank); },
                  [this](Rank rank) { stand_ins.push_back(rank); }};
};

}  // namespace

TEST_CASE("PMIx ranks: a rank is connected between init and its end or finalize") {
  Fixture f(OnFailure::wait);
  CHECK_FALSE(f.ranks.connected(1));  // of another node
  CHECK_FALSE(f.ranks.finalized(5));
  CHECK(f.ranks.connected(2));
  CHECK(f.ranks.is_connected(2));
  CHECK(f.ranks.finalized(2));
  CHECK_FALSE(f.ranks.is_connected(2));
  CHECK(f.ranks.connected(3));
  f.end(3);
  CHECK_FALSE(f.ranks.is_connected(3));
  CHECK_FALSE(f.ranks.is_here(3));
  CHECK(f.ranks.is_here(4));
  CHECK(f.ranks.connected(3));  // the stand-in of a rank that has ended
  CHECK_FALSE(f.ranks.is_connected(3));
}

TEST_CASE("PMIx ranks: stand-ins are for ranks that never connected, once others are") {
  Fixture f(OnFailure::wait);
  f.end(2);
  CHECK(f.stand_ins.empty());
  CHECK(f.ranks.connected(3));
  CHECK(f.stand_ins == std::vector<Rank>{2});
  f.end(4, 1);
  CHECK(f.stand_ins == std::vector<Rank>{2, 4});
  f.end(3);
  CHECK(f.stand_ins == std::vector<Rank>{2, 4});
}

TEST_CASE("PMIx ranks: a failure that ends the job needs no stand-in") {
  Fixture f(OnFailure::kill);
  CHECK(f.ranks.connected(3));
  f.end(2, 1);
  CHECK(f.stand_ins.empty());
  f.end(4);
  CHECK(f.stand_ins == std::vector<Rank>{4});
}

TEST_CASE("PMIx ranks: a set is incomplete if one of its ranks has ended or is about to") {
  const OnFailure on_failure = GENERATE(OnFailure::kill, OnFailure::wait);
  Fixture f(on_failure);
  CHECK_FALSE(f.ranks.is_incomplete(RankSet::run(0, 10)));
  f.leaving.add(3);
  CHECK(f.ranks.is_incomplete(RankSet::run(3, 1)) == (on_failure == OnFailure::wait));
  CHECK_FALSE(f.ranks.is_incomplete(RankSet::run(4, 1)));
  f.end(4);
  CHECK(f.ranks.is_incomplete(RankSet::run(4, 2)));
}

}  // namespace pmix_ranks_test
