// A launched tree of agent cores, with one rank on each host unless a test asks for more. Questions
// of ranks are answered at once.
#pragma once

#include <catch2/catch.hpp>

#include <utility>

#include "tests/support/tree_harness.h"

namespace scela::nla::testing {

inline ask::Spawn spawn(std::uint32_t ranks, KeyValues preput = {}) {
  return {{{{{"program"}, ranks, {}}}, std::move(preput)}};
}

inline ask::Collective fence(const RankSet& set) {
  ask::Collective call;
  call.kind = CollectiveKind::fence;
  call.set = set;
  return call;
}

struct LaunchedTree : TreeHarness {
  LaunchedTree(std::uint32_t hosts, std::uint32_t degree, OnFailure on_failure = OnFailure::kill,
               std::uint32_t patience_ms = 0, std::uint32_t ranks_per_host = 1)
      : TreeHarness(hosts, degree) {
    shell.adopt_ms = patience_ms;
    begin();
    launch(job(hosts, ranks_per_host, on_failure));
    REQUIRE(shell.launched);
  }
  Response of(Rank rank, const Request& request) {
    ask(rank, request, ++last);
    run();
    REQUIRE(answer(rank, last) != nullptr);
    return *answer(rank, last);
  }
  bool ended_well() {
    exit_all();
    return root_left() && all_left() && shell.ended.size() == 1 && shell.first_failures.empty();
  }
  RequestId last = 0;
};

}  // namespace scela::nla::testing
