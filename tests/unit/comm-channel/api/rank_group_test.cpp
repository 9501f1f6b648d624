// Tests the ranks of a communicator as the channel translates them.
#include "comm-channel/include/rank_group.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "comm-channel/engine/status_writer.h"

namespace scela::channel::rank_group_test {
namespace {

TEST_CASE("rank group: ranks of the channel become those of the communicator, in statuses too") {
  const RankGroup group(std::vector<int>{5, 2, 9}, 2, 10);
  CHECK_FALSE(group.is_whole());
  CHECK(group.rank_of(5) == 0);
  CHECK(group.rank_of(2) == 1);
  CHECK(group.rank_of(9) == 2);
  CHECK(group.rank_of(0) == -1);
  CHECK(group.rank_of(-1) == -1);
  const Status got = group.translated(StatusWriter::of_message(9, 7, 100));
  CHECK(got.source() == 2);
  CHECK(got.tag() == 7);
  CHECK(got.bytes() == 100);
  const Status ended = group.translated(Status(Code::peer_ended, 5, "rank 5 has ended"));
  CHECK(ended.rank() == 0);
  CHECK(ended.code() == Code::peer_ended);
  CHECK(ended.message() == "rank 5 has ended; rank 5 of the job is rank 0 of the communicator");
  const Status alone = group.translated(Status(Code::peer_ended, -1, "all have ended"));
  CHECK(alone.rank() == -1);
  CHECK(alone.message() == "all have ended");
}

TEST_CASE("rank group: one of all ranks in their order changes nothing") {
  const RankGroup whole(std::vector<int>{0, 1, 2}, 1, 3);
  CHECK(whole.is_whole());
  CHECK(whole.rank_of(2) == 2);
  const Status ended = whole.translated(Status(Code::peer_ended, 2, "rank 2 has ended"));
  CHECK(ended.rank() == 2);
  CHECK(ended.message() == "rank 2 has ended");
  CHECK_FALSE(RankGroup(std::vector<int>{0, 1}, 1, 3).is_whole());
  CHECK_FALSE(RankGroup(std::vector<int>{0, 2, 1}, 1, 3).is_whole());
}

TEST_CASE("rank group: none is left once all others have ended, and there were others") {
  const RankGroup group(std::vector<int>{5, 2, 9}, 2, 10);
  std::vector<bool> ended(10, false);
  const auto has_ended = [&](int rank) { return bool{ended[static_cast<std::size_t>(rank)]}; };
  ended[5] = true;
  CHECK_FALSE(group.nobody_left(has_ended));
  ended[9] = true;
  CHECK(group.nobody_left(has_ended));
  const RankGroup alone(std::vector<int>{2}, 2, 10);
  CHECK_FALSE(alone.nobody_left(has_ended));
}

}  // namespace
}  // namespace scela::channel::rank_group_test
