#include "launcher/report/verdict.h"

#include <catch2/catch.hpp>
#include <cerrno>

namespace verdict_test {

using namespace scela;
using Kind = RankOutcome::Kind;

TEST_CASE("a rank ended by the job is never the cause, one that succeeded is a success") {
  nla::Outcome outcome{nla::Ending::signaled, 15, false, true, {}};
  CHECK(to_rank_outcome(outcome).kind == Kind::killed_by_us);
  // In the summary they are one group, however each of them ended.
  CHECK(to_rank_outcome(outcome) == to_rank_outcome({nla::Ending::cancelled, 0, false, true, {}}));
  outcome = {nla::Ending::exited, 0, false, true, {}};
  CHECK(to_rank_outcome(outcome).kind == Kind::exited);
  CHECK_FALSE(to_rank_outcome(outcome).failed());
}

TEST_CASE("the errno of a program that could not be executed decides its kind") {
  CHECK(to_rank_outcome({nla::Ending::not_started, ENOENT, false, false, "x"}).kind ==
        Kind::not_found);
  CHECK(to_rank_outcome({nla::Ending::not_started, EACCES, false, false, "x"}).kind ==
        Kind::not_executable);
  CHECK(to_rank_outcome({nla::Ending::not_started, ENOMEM, false, false, "x"}).kind ==
        Kind::not_started);
  CHECK(to_rank_outcome({nla::Ending::refused, EAGAIN, false, false, "x"}).kind ==
        Kind::not_started);
}

TEST_CASE("signals keep their number and core, aborts their code and message") {
  const RankOutcome killed = to_rank_outcome({nla::Ending::signaled, 11, true, false, {}});
  CHECK(killed.kind == Kind::signaled);
  CHECK(killed.signal == 11);
  CHECK(killed.core_dumped);
  const RankOutcome aborted = to_rank_outcome({nla::Ending::aborted, 7, false, false, "why"});
  CHECK(aborted.kind == Kind::aborted);
  CHECK(aborted.code == 7);
  CHECK(aborted.message == "why");
  CHECK(to_rank_outcome({nla::Ending::violated, 0, false, false, "x"}).kind ==
        Kind::broke_protocol);
}

}  // namespace verdict_test
