#include "pmi/protocol/pmgr.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "common/core/random.h"
#include "pmi/protocol/native_ints.h"

namespace scela::pmi::pmgr_test {
namespace {

std::string ints(std::initializer_list<std::int32_t> values) {
  std::string out;
  for (const std::int32_t value : values)
    append_int(out, value);
  return out;
}

// The ranks' sessions and the job that serves them. An operation is carried out when all ranks have
// asked for it.
struct World {
  explicit World(Rank size, bool mvapich1 = false) {
    for (Rank rank = 0; rank < size; ++rank) {
      sessions.push_back(mvapich1 ? make_mvapich1_session(rank, size)
                                  : make_pmgr_session(rank, size));
      said.emplace_back();
      calls.emplace_back();
      ends.emplace_back();
    }
  }
  Rank size() const { return static_cast<Rank>(sessions.size()); }

  void say(Rank rank, const std::string& bytes, std::size_t piece = 1000000) {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      sessions[rank]->receive(std::string_view(bytes).substr(at, piece));
      serve(rank);
    }
  }
  void serve(Rank rank) {
    while (auto request = sessions[rank]->next()) {
      auto* asked = std::get_if<ask::Request>(&*request);
      if (asked == nullptr) {
        ends[rank] = "hang up";
      } else if (auto* call = std::get_if<ask::Collective>(asked)) {
        CHECK(call->set == RankSet::run(0, size()));
        calls[rank] = std::move(*call);
      } else if (const auto* abort = std::get_if<ask::Abort>(asked)) {
        ends[rank] = "abort " + std::to_string(abort->code);
      } else {
        ends[rank] = std::get<ask::Violation>(*asked).why;
      }
    }
    turn();
    for (const Chunk& chunk : sessions[rank]->take_output())
      said[rank] += chunk.view();
  }
  // Does among sessions what the collective engine does.
  void turn() {
    for (const auto& call : calls) {
      if (!call) return;
    }
    const auto all = std::move(calls);
    calls.assign(all.size(), std::nullopt);
    for (Rank rank = 0; rank < size(); ++rank) {
      using Kind = ask::CollectiveKind;
      ask::Response result;
      const ask::Collective& mine = *all[rank];
      const auto& root = all[mine.root]->parts;
      if (mine.kind == Kind::broadcast) result.parts = {root.at(0)};
      if (mine.kind == Kind::scatter) result.parts = {root.at(rank)};
      for (const auto& other : all) {
        const bool to_me =
            mine.kind == Kind::allgather || (mine.kind == Kind::gather && rank == mine.root);
        if (to_me) result.parts.push_back(other->parts.at(0));
        if (mine.kind == Kind::alltoall) result.parts.push_back(other->parts.at(rank));
      }
      sessions[rank]->answer(result);
      serve(rank);
    }
  }
  std::string take(Rank rank) { return std::exchange(said[rank], {}); }

  std::vector<std::unique_ptr<PmgrSession>> sessions;
  std::vector<std::string> said;
  std::vector<std::optional<ask::Collective>> calls;
  std::vector<std::string> ends;
};

// Returns the block that rank `from` gives to rank `to`.
std::string block(Rank from, Rank to, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i)
    out += static_cast<char>('a' + (from * 7 + to * 3 + i) % 26);
  return out;
}

TEST_CASE("PMGR: every operation gives every rank what belongs to it, whatever the pieces") {
  const std::size_t piece = GENERATE(1, 3, 64, 1000000);
  const int size = GENERATE(0, 1, 6, 5000);
  const auto bytes = static_cast<std::size_t>(size);
  const Rank ranks = GENERATE(1, 2, 5);
  World world(ranks);
  const Rank root = ranks - 1;
  const auto root_int = static_cast<std::int32_t>(root);
  std::string row;  // the data that the root scatters
  std::string from_all;
  for (Rank rank = 0; rank < ranks; ++rank) {
    row += block(root, rank, bytes);
    from_all += block(rank, 0, bytes);
  }
  for (Rank rank = 0; rank < ranks; ++rank) {
    std::string blocks;
    for (Rank to = 0; to < ranks; ++to)
      blocks += block(rank, to, bytes);
    const bool is_root = rank == root;
    world.say(rank,
              ints({3}) + ints({4, root_int, size}) + (is_root ? block(root, 0, bytes) : "") +
                  ints({5, root_int, size}) + block(rank, 0, bytes) + ints({6, root_int, size}) +
                  (is_root ? row : "") + ints({7, size}) + block(rank, 0, bytes) + ints({8, size}) +
                  blocks + ints({1}),
              piece);
  }
  for (Rank rank = 0; rank < ranks; ++rank) {
    std::string to_me;
    for (Rank from = 0; from < ranks; ++from)
      to_me += block(from, rank, bytes);
    CHECK(world.take(rank) == ints({3}) + block(root, 0, bytes) + (rank == root ? from_all : "") +
                                  block(root, rank, bytes) + from_all + to_me);
    CHECK(world.ends[rank] == "hang up");
    CHECK_FALSE(world.sessions[rank]->unfinished());
    CHECK_FALSE(world.sessions[rank]->wants_bytes());
  }
}

// LLNL's client sends this with MPIRUN_USE_TREES, its default: 127.0.0.1 and a port, then nothing.
TEST_CASE("PMGR: a tree is opened by a GATHER of six bytes and a CLOSE") {
  World world(3);
  const std::string first = "\x7f\0\0\1\x10\x27";
  for (const Rank rank : {2U, 0U, 1U}) {
    world.say(rank,
              ints({5, 0, 6}) + std::string("\x7f\0\0\1", 4) + std::string(2, char('0' + rank)));
    world.say(rank, ints({1}));
  }
  const std::string ip("\x7f\0\0\1", 4);
  CHECK(world.take(0) == ip + "00" + ip + "11" + ip + "22");
  CHECK(world.take(1).empty());
  CHECK(world.take(2).empty());
  CHECK(world.ends == std::vector<std::string>(3, "hang up"));
}

TEST_CASE("PMGR: an OPEN is answered nothing and must be for the rank itself") {
  World world(2);
  world.say(0, ints({0, 0, 3}));
  CHECK(world.calls[0].has_value());
  world.say(1, ints({0, 0}));
  CHECK(world.ends[1] == "PMGR: the rank sent an OPEN for rank 0");
}

TEST_CASE("PMGR: an abort is heard at once, even behind an operation that waits") {
  World world(2);
  SECTION("first of all") {
    world.say(0, ints({2, 7}), 3);
  }
  SECTION("in a barrier") {
    world.say(0, ints({3, 2, 7}), 3);
  }
  CHECK(world.ends[0] == "abort 7");
  CHECK(world.sessions[0]->unfinished());
  world.say(0, ints({99}));
  CHECK(world.ends[0] == "abort 7");
}

TEST_CASE("PMGR: an impossible request is named") {
  World world(4);
  const auto why = [&](const std::string& bytes) {
    world.say(1, bytes);
    CHECK_FALSE(world.calls[1].has_value());
    return world.ends[1];
  };
  const auto most = static_cast<std::int32_t>(kMaxPmgrBytes);
  SECTION("opcode") {
    CHECK(why(ints({9})) == "PMGR: the rank sent the opcode 9");
  }
  SECTION("negative opcode") {
    CHECK(why(ints({-1})) == "PMGR: the rank sent the opcode -1");
  }
  SECTION("root") {
    CHECK(why(ints({4, 4, 1})) == "PMGR: the rank sent BCAST with the root 4, there are 4 ranks");
  }
  SECTION("negative root") {
    CHECK(why(ints({5, -1, 1})).find("with the root -1") != std::string::npos);
  }
  SECTION("negative size") {
    CHECK(why(ints({7, -5})).find("sent ALLGATHER of -5 bytes") != std::string::npos);
  }
  SECTION("too many bytes from the root") {
    CHECK(why(ints({4, 0, most + 1})).find("at most 16777216 are served") != std::string::npos);
  }
  SECTION("too many bytes from all together") {
    CHECK(why(ints({8, most / 4 + 1})).find("at most 4194304 are served") != std::string::npos);
  }
  CHECK_FALSE(world.sessions[1]->wants_bytes());
}

TEST_CASE("PMGR: the receiver finds that ranks disagree about a size") {
  World world(3);
  world.say(0, ints({5, 0, 4}) + "aaaa");
  world.say(1, ints({5, 0, 4}) + "bbbb");
  world.say(2, ints({5, 0, 2}) + "cc");
  CHECK(world.ends[0] == "PMGR: the rank asked for GATHER of 4 bytes, rank 2 for one of 2");
  CHECK(world.ends[1].empty());
}

TEST_CASE("PMGR: a root that broadcasts another size is told by the others") {
  World world(2);
  world.say(0, ints({4, 0, 4}) + "aaaa");
  world.say(1, ints({4, 0, 3}));
  CHECK(world.ends[1] == "PMGR: the rank asked for BCAST of 3 bytes, the root for one of 4");
  CHECK(world.take(0) == "aaaa");
}

TEST_CASE("PMGR: ranks that ask for different things break the protocol, a lost one does not") {
  const auto session = make_pmgr_session(0, 2);
  session->receive(ints({3}));
  REQUIRE(session->next());
  SECTION("disagreement") {
    session->answer({.ok = false, .error = "rank 1 is at a fence", .disagreement = true});
    const auto last = session->next();
    REQUIRE(last);
    const std::string why = std::get<ask::Violation>(std::get<ask::Request>(*last)).why;
    CHECK(why.ends_with("disagree about: rank 1 is at a close"));
  }
  SECTION("failure") {
    session->answer({.ok = false, .error = "rank 1 ended"});
    const auto last = session->next();
    REQUIRE(last);
    CHECK(std::holds_alternative<HangUp>(*last));
    CHECK_FALSE(session->unfinished());
  }
  CHECK_FALSE(session->next());
  CHECK(session->take_output().empty());
}

TEST_CASE("PMGR: a client that sends without waiting is read only to a bound") {
  const auto session = make_pmgr_session(0, 2);
  session->receive(ints({3}));
  REQUIRE(session->next());
  std::size_t taken = 0;
  while (session->wants_bytes()) {
    session->receive(std::string(1000, '\0'));
    REQUIRE_FALSE(session->next());
    taken += 1000;
    REQUIRE(taken < 2 * kMaxAhead);
  }
  CHECK(taken >= kMaxAhead);
  session->answer({});
  static_cast<void>(session->next());
  CHECK(session->wants_bytes());
}

// MVAPICH 0.9.9's client sends this: two ranks are on hosts 77 and 88 and have LIDs 5 and 6.
TEST_CASE("MVAPICH 1: host ids, then addresses turned round for each rank, then a barrier") {
  const std::size_t piece = GENERATE(1, 7, 1000000);
  World world(2, true);
  world.say(0, ints({4, 77, 1}), piece);
  world.say(1, ints({4, 88, 1}), piece);
  CHECK(world.take(0) == ints({1, 77, 88}));
  CHECK(world.take(1) == ints({1, 77, 88}));
  world.say(0, ints({12, 5, 101, 77, 4, 4000}), piece);
  CHECK(world.sessions[0]->unfinished());
  world.say(1, ints({12, 110, 6, 88, 4, 4001}), piece);
  CHECK(world.take(0) == ints({5, 6, -1, 110, 77, 88, 4000, 4001}));
  CHECK(world.take(1) == ints({5, 6, 101, -1, 77, 88, 4000, 4001}));
  CHECK_FALSE(world.sessions[0]->unfinished());
  world.say(0, ints({0}), piece);
  CHECK(world.take(0).empty());
  world.say(1, ints({1}), piece);
  CHECK(world.take(0) == ints({0}));
  CHECK(world.take(1) == ints({1}));
  CHECK(world.ends == std::vector<std::string>(2, "hang up"));
}

TEST_CASE("MVAPICH 1: adapters that differ make no homogeneous job") {
  World world(2, true);
  world.say(0, ints({4, 77, 1}));
  world.say(1, ints({4, 88, 2}));
  CHECK(world.take(0) == ints({0, 77, 88}));
}

TEST_CASE("MVAPICH 1: lengths that cannot be are named") {
  World world(2, true);
  SECTION("host id") {
    world.say(0, ints({5}));
    CHECK(world.ends[0] == "PMGR: the rank sent a host id of 5 bytes, not 4");
  }
  SECTION("later ones") {
    world.say(0, ints({4, 77, 1}));
    world.say(1, ints({4, 88, 1}));
    SECTION("address") {
      world.say(0, ints({8}));
      CHECK(world.ends[0] == "PMGR: the rank sent an address of 8 bytes, 12 belong to 2 ranks");
    }
    SECTION("pid") {
      world.say(0, ints({12, 5, 101, 77, 8}));
      CHECK(world.ends[0] == "PMGR: the rank sent a pid of 8 bytes, not 4");
    }
    SECTION("barrier") {
      world.say(0, ints({12, 5, 101, 77, 4, 4000}));
      world.say(1, ints({12, 110, 6, 88, 4, 4001}));
      world.say(0, ints({1}));
      CHECK(world.ends[0] == "PMGR: the rank came to the barrier as rank 1");
    }
  }
}

}  // namespace
}  // namespace scela::pmi::pmgr_test
