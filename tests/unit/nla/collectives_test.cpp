#include "nla/core/collectives.h"

#include <catch2/catch.hpp>

#include "nla/core/agent.h"
#include "nla/core/records.h"

using namespace scela;
using namespace scela::nla;

namespace {

// One agent that runs a job, its neighbours played by the test: node 0 of a chain of three, so its
// only child (link 1) looks after nodes 1 and 2; node 3 is elsewhere. Two ranks a node.
struct Chain {
  Chain() {
    msg::Start start;
    start.slice = {0, 3};
    start.nodes = 4;
    start.degree = 1;
    from(kParentLink, start);
    from(kParentLink, msg::SliceHosts{true, Chunk(std::string("a\nb\nc\n"))});
    msg::Hello hello;
    hello.node = 1;
    from(1, hello);
    from(1, msg::Ready{2});
  }
  void launch() {
    from(kParentLink, msg::JobBytes{true, Chunk(job_bytes())});
    give(event::RankStarted{0});
    give(event::RankStarted{1});
    actions.clear();
  }
  static std::string job_bytes() {
    Job job;
    job.id = "test";
    App app;
    app.argv = {"program"};
    app.ranks = RankSet::run(0, 8);
    job.apps.push_back(std::move(app));
    for (std::uint32_t node = 0; node < 4; ++node)
      job.map.append(node, 2);
    return encode(job);
  }
  // What the agent does about this one event is in `actions` afterwards.
  void give(const Event& event) {
    actions.clear();
    agent.handle(event, actions);
  }
  void from(LinkId link, Message message) { give(event::Received{link, std::move(message), 0}); }
  void ask(Rank rank, const RankSet& set) {
    give(event::Asked{rank, ++request, ask::Collective{CollectiveKind::barrier, set, 0, {}}});
  }

  template <class M>
  std::vector<M> sent(LinkId link) const {
    std::vector<M> found;
    for (const Action& action : actions) {
      const auto* send = std::get_if<action::Send>(&action);
      if (send != nullptr && send->link == link && std::holds_alternative<M>(send->message))
        found.push_back(std::get<M>(send->message));
    }
    return found;
  }
  std::size_t replies() const {
    return static_cast<std::size_t>(std::count_if(
        actions.begin(), actions.end(),
        [](const Action& action) { return std::holds_alternative<action::Reply>(action); }));
  }

  Agent agent{Role::agent};
  Actions actions;
  RequestId request = 0;
};

// The first of several pieces of what `source` gives.
Chunk first_piece(Rank source, std::uint32_t destination) {
  std::string records;
  append_record(records, source, destination, 10 * kRecordPayload, 0,
                std::string(kRecordPayload, 'x'));
  return Chunk(std::move(records));
}

}  // namespace

TEST_CASE("the first piece of the job is passed on before the last has come") {
  Chain chain;
  chain.from(kParentLink, msg::JobBytes{false, Chunk(std::string(kMaxPiece, 'j'))});
  REQUIRE(chain.sent<msg::JobBytes>(1).size() == 1);
  CHECK(chain.sent<msg::JobBytes>(1)[0].bytes.size() == kMaxPiece);
}

TEST_CASE("the first piece of a transfer is passed on before the last has come") {
  Chain chain;
  chain.launch();
  const CollectiveId id{RankSet::run(0, 6), 0};
  SECTION("contributions, upwards") {
    const Chunk piece = first_piece(3, 0);
    chain.from(1, msg::CollectiveUp{id, CollectiveKind::gather, 0, false, {}, {}, piece});
    REQUIRE(chain.sent<msg::CollectiveUp>(kParentLink).size() == 1);
    CHECK(chain.sent<msg::CollectiveUp>(kParentLink)[0].records == piece);
    CHECK_FALSE(chain.sent<msg::CollectiveUp>(kParentLink)[0].last);
    CHECK(chain.agent.held_bytes() == 0);
  }
  SECTION("results, downwards") {
    const Chunk piece = first_piece(0, kEverybody);
    chain.from(kParentLink,
               msg::CollectiveDown{id, CollectiveKind::broadcast, 0, false, {}, {}, piece});
    REQUIRE(chain.sent<msg::CollectiveDown>(1).size() == 1);
    CHECK(chain.sent<msg::CollectiveDown>(1)[0].records == piece);
  }
  SECTION("results for one rank, downwards") {
    const Chunk piece = first_piece(0, 4);
    chain.from(kParentLink,
               msg::CollectiveDown{id, CollectiveKind::scatter, 0, false, {}, {}, piece});
    REQUIRE(chain.sent<msg::CollectiveDown>(1).size() == 1);
    CHECK(chain.sent<msg::CollectiveDown>(1)[0].records == piece);
    CHECK(chain.agent.held_bytes() == 0);
  }
  SECTION("messages between ranks") {
    const Chunk piece(std::string(kMaxPiece, 'p'));
    chain.from(kParentLink, msg::Parcel{7, 5, 0, 10 * kMaxPiece, 0, piece});
    CHECK(chain.sent<msg::Parcel>(1).size() == 1);
    chain.from(1, msg::Parcel{5, 7, 0, 10 * kMaxPiece, 0, piece});
    CHECK(chain.sent<msg::Parcel>(kParentLink).size() == 1);
    CHECK(chain.agent.held_bytes() == 0);
  }
}

TEST_CASE("operations on one set are numbered, those on different sets overlap") {
  Chain chain;
  chain.launch();
  const RankSet pair = RankSet::run(0, 2);
  const RankSet world = RankSet::run(0, 6);
  const auto down = [](const RankSet& set, std::uint64_t seq) {
    return msg::CollectiveDown{{set, seq}, CollectiveKind::barrier, 0, true, {}, {}, Chunk()};
  };
  // The world's first is open all the time: its other members are late.
  chain.ask(0, world);
  chain.ask(1, world);
  for (std::uint64_t seq = 0; seq < 3; ++seq) {
    chain.ask(0, pair);
    CHECK(chain.sent<msg::CollectiveUp>(kParentLink).empty());
    chain.ask(1, pair);
    const auto up = chain.sent<msg::CollectiveUp>(kParentLink);
    REQUIRE(up.size() == 1);
    CHECK(up[0].id == CollectiveId{pair, seq});
    // An answer to another operation of the set is none to this one.
    chain.from(kParentLink, down(pair, seq + 7));
    CHECK(chain.replies() == 0);
    chain.from(kParentLink, down(pair, seq));
    CHECK(chain.replies() == 2);
  }
  chain.from(1, msg::CollectiveUp{{world, 0}, CollectiveKind::barrier, 0, true, {}, {}, Chunk()});
  const auto up = chain.sent<msg::CollectiveUp>(kParentLink);
  REQUIRE(up.size() == 1);
  CHECK(up[0].id == CollectiveId{world, 0});
  CHECK(up[0].last);
  chain.from(kParentLink, down(world, 0));
  CHECK(chain.replies() == 2);
  CHECK(chain.sent<msg::CollectiveDown>(1).size() == 1);
}
