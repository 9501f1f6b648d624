#include "nla/core/kvs/names.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "tests/support/launched_tree.h"
#include "tests/unit/nla/core/agent/chain.h"

namespace names_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::Chain;
using Tree = scela::nla::testing::LaunchedTree;

namespace {

ask::Name publish(const std::string& name, const std::string& port) {
  return {NameAct::publish, name, port};
}
ask::Name lookup(const std::string& name) {
  return {NameAct::lookup, name, {}};
}
ask::Name unpublish(const std::string& name) {
  return {NameAct::unpublish, name, {}};
}

}  // namespace

TEST_CASE("a name that one rank publishes is found by all, and by none when it is unpublished") {
  Tree tree(9, 2);
  CHECK(tree.of(8, lookup("service")).error == "the name 'service' is not published");
  CHECK(tree.of(3, publish("service", "port 3")).ok);
  for (Rank rank = 0; rank < 9; ++rank) {
    const Response found = tree.of(rank, lookup("service"));
    REQUIRE(found.ok);
    CHECK(found.parts[0].view() == "port 3");
  }
  CHECK(tree.of(0, unpublish("service")).ok);
  CHECK_FALSE(tree.of(3, lookup("service")).ok);
  CHECK(tree.of(3, unpublish("service")).error == "the name 'service' is not published");
}

TEST_CASE("a name is published once, and again when it was unpublished") {
  Tree tree(4, 1);
  CHECK(tree.of(3, publish("service", "first")).ok);
  CHECK(tree.of(0, publish("service", "second")).error ==
        "the name 'service' is published already");
  CHECK(tree.of(1, lookup("service")).parts[0].view() == "first");
  CHECK(tree.of(2, unpublish("service")).ok);
  CHECK(tree.of(0, publish("service", "second")).ok);
  CHECK(tree.of(1, lookup("service")).parts[0].view() == "second");
}

TEST_CASE("a rank has only so many names published") {
  Tree tree(2, 1);
  for (int i = 0; i < 64; ++i)
    REQUIRE(tree.of(1, publish("name" + std::to_string(i), "port")).ok);
  CHECK(tree.of(1, publish("one more", "port")).error == "a rank publishes 64 names at most");
  CHECK(tree.of(0, publish("one more", "port")).ok);
  CHECK(tree.of(0, unpublish("name7")).ok);
  CHECK(tree.of(1, publish("name7", "port")).ok);
}

TEST_CASE("look-ups that wait for a name are answered when it is published, up to a limit") {
  Tree tree(9, 2);
  const auto wait = [&](Rank rank, const std::string& name) {
    tree.ask(rank, ask::Name{NameAct::await, name, {}}, ++tree.last);
    tree.run();
    return tree.last;
  };
  const RequestId first = wait(7, "service");
  const RequestId second = wait(3, "service");
  CHECK(tree.answer(7, first) == nullptr);
  CHECK(tree.of(5, publish("service", "port")).ok);
  for (const auto& [rank, id] : {std::pair{Rank{7}, first}, {Rank{3}, second}}) {
    REQUIRE(tree.answer(rank, id) != nullptr);
    CHECK(tree.answer(rank, id)->parts[0].view() == "port");
  }
  for (int i = 0; i < 64; ++i)
    CHECK(tree.answer(2, wait(2, cat("no name ", i))) == nullptr);
  const RequestId refused = wait(2, "one more");
  REQUIRE(tree.answer(2, refused) != nullptr);
  CHECK_FALSE(tree.answer(2, refused)->ok);
}

TEST_CASE("a name for one look-up is given to the first that waits, and is gone") {
  Tree tree(9, 2);
  const auto wait = [&](Rank rank) {
    tree.ask(rank, ask::Name{NameAct::await, "once", {}}, ++tree.last);
    tree.run();
    return tree.last;
  };
  const auto publish_once = [&](Rank rank, const std::string& port) {
    return tree.of(rank, ask::Name{NameAct::publish_once, "once", port}).ok;
  };
  const RequestId first = wait(7);
  const RequestId second = wait(3);
  CHECK(publish_once(5, "a"));
  REQUIRE(tree.answer(7, first) != nullptr);
  CHECK(tree.answer(3, second) == nullptr);
  CHECK(publish_once(5, "b"));
  REQUIRE(tree.answer(3, second) != nullptr);
  CHECK(tree.answer(3, second)->parts[0].view() == "b");
  // The rank publishes more names than it may have at a time.
  for (int i = 0; i < 100; ++i) {
    CHECK(publish_once(5, "c"));
    CHECK(tree.of(1, lookup("once")).parts[0].view() == "c");
  }
  CHECK_FALSE(tree.of(1, lookup("once")).ok);
}

TEST_CASE("a name for one look-up is not given to a rank that has failed meanwhile") {
  nla::testing::TreeHarness tree(9, 2);
  tree.begin();
  tree.launch(nla::testing::TreeHarness::job(9, 1, OnFailure::wait));
  tree.ask(7, ask::Name{NameAct::await, "once", {}}, 1);
  tree.run();
  tree.ask(3, ask::Name{NameAct::await, "once", {}}, 2);
  tree.run();
  tree.exit(7, {Ending::signaled, 9, false, false, {}});
  tree.run();
  tree.ask(5, ask::Name{NameAct::publish_once, "once", "a"}, 3);
  tree.run();
  REQUIRE(tree.answer(3, 2) != nullptr);
  CHECK(tree.answer(3, 2)->parts[0].view() == "a");
}

TEST_CASE("a look-up that is given up is withdrawn at the root and is not answered any more") {
  Tree tree(9, 2);
  const auto ask = [&](Rank rank, RequestId id, const ask::Name& question) {
    tree.ask(rank, question, id);
    tree.run();
    return tree.answer(rank, id);
  };
  CHECK(ask(7, 100, {NameAct::await, "once"}) == nullptr);
  CHECK(ask(3, 100, {NameAct::await, "once"}) == nullptr);
  CHECK(ask(7, 101, {NameAct::await, "once"}) == nullptr);
  const Response* given_up = ask(7, 100, {NameAct::give_up, "once"});
  REQUIRE(given_up != nullptr);
  CHECK(given_up->error == "the name 'once' was not published in time");
  CHECK(tree.of(5, ask::Name{NameAct::publish_once, "once", "a"}).ok);
  REQUIRE(tree.answer(3, 100) != nullptr);
  CHECK(tree.answer(3, 100)->parts[0].view() == "a");
  CHECK(tree.of(5, ask::Name{NameAct::publish_once, "once", "b"}).ok);
  REQUIRE(tree.answer(7, 101) != nullptr);
  CHECK(tree.answer(7, 101)->parts[0].view() == "b");
  const std::size_t said = tree.programs.answers.size();
  ask(7, 101, {NameAct::give_up, "once"});  // too late: it has what it waited for
  CHECK(tree.programs.answers.size() == said);
  // A rank that has given up no longer counts among those that wait.
  for (RequestId id = 200; id < 400; ++id) {
    REQUIRE(ask(2, id, {NameAct::await, "never"}) == nullptr);
    REQUIRE(ask(2, id, {NameAct::give_up, "never"}) != nullptr);
  }
}

TEST_CASE(
    "a name is found by those that it is for, the narrowest first, and is there once for them") {
  nla::testing::TreeHarness tree(3, 2);
  tree.begin();
  tree.launch(nla::testing::TreeHarness::job(3, 2));
  RequestId last = 0;
  const auto ask = [&](Rank rank, const ask::Name& question) {
    tree.ask(rank, question, ++last);
    tree.run();
    REQUIRE(tree.answer(rank, last) != nullptr);
    return *tree.answer(rank, last);
  };
  const auto publish_for = [&](Rank rank, NameRange range, const std::string& port) {
    return ask(rank, {NameAct::publish, "n", port, range}).ok;
  };
  const auto found = [&](Rank rank, NameRange range) {
    const Response response = ask(rank, {NameAct::lookup, "n", {}, range});
    return response.ok ? std::string(response.parts[0].view()) : "";
  };
  CHECK(publish_for(2, NameRange::node, "node 1"));
  CHECK_FALSE(publish_for(3, NameRange::node, "again"));
  CHECK(publish_for(4, NameRange::node, "node 2"));
  CHECK(publish_for(3, NameRange::rank, "rank 3"));
  CHECK(found(0, NameRange::job).empty());
  CHECK(found(2, NameRange::job) == "node 1");
  CHECK(found(3, NameRange::job) == "rank 3");
  CHECK(found(5, NameRange::job) == "node 2");
  CHECK(found(5, NameRange::rank).empty());  // another rank has published it
  CHECK(publish_for(5, NameRange::job, "job"));
  CHECK(publish_for(0, NameRange::world, "world"));
  CHECK(found(1, NameRange::job) == "world");
  CHECK(found(1, NameRange::node) == "world");
  CHECK(found(2, NameRange::node) == "node 1");
  // Only the name of that range is gone.
  CHECK(ask(3, {NameAct::unpublish, "n", {}, NameRange::node}).ok);
  CHECK(found(2, NameRange::job) == "world");
  CHECK(found(3, NameRange::job) == "rank 3");
  CHECK(ask(3, {NameAct::unpublish, "n", {}, NameRange::world}).ok);
  CHECK(found(2, NameRange::job) == "job");
  CHECK(found(2, NameRange::node).empty());

  SECTION("a look-up that waits is given a name for its range, not for others") {
    tree.ask(1, ask::Name{NameAct::await, "m", {}}, ++last);
    const RequestId waits = last;
    tree.run();
    ask(2, {NameAct::publish, "m", "theirs", NameRange::node});
    CHECK(tree.answer(1, waits) == nullptr);
    ask(0, {NameAct::publish, "m", "ours", NameRange::node});
    REQUIRE(tree.answer(1, waits) != nullptr);
    CHECK(tree.answer(1, waits)->parts[0].view() == "ours");
  }
}

TEST_CASE("names that go with their rank are withdrawn when it ends, or is lost with its node") {
  nla::testing::TreeHarness tree(3, 2);
  tree.begin();
  tree.launch(nla::testing::TreeHarness::job(3, 2, OnFailure::wait));
  RequestId last = 0;
  const auto ask = [&](Rank rank, const ask::Name& question) {
    tree.ask(rank, question, ++last);
    tree.run();
    return tree.answer(rank, last) != nullptr && tree.answer(rank, last)->ok;
  };
  for (const Rank rank : {3u, 4u}) {
    const std::string name = cat("of ", rank);
    CHECK(ask(rank, {NameAct::publish_own, name, "own"}));
    CHECK(ask(rank, {NameAct::publish, name + ", kept", "kept"}));
    CHECK(ask(0, {NameAct::lookup, name}));
  }
  tree.ask(3, ask::Name{NameAct::withdraw, {}}, ++last);
  tree.run();
  CHECK(tree.answer(3, last) == nullptr);
  tree.exit(4, {Ending::signaled, 9, false, false, {}});
  tree.run();
  for (const Rank rank : {3u, 4u}) {
    CHECK_FALSE(ask(0, {NameAct::lookup, cat("of ", rank)}));
    CHECK(ask(0, {NameAct::lookup, cat("of ", rank, ", kept")}));
  }
}

TEST_CASE("the names and waiting look-ups of a node's ranks take so much memory at the root") {
  constexpr Rank kRanks = 40;
  Tree tree(1, 1, OnFailure::kill, 0, kRanks);
  const std::string port(kMaxPublished, 'p');
  const std::string long_name(900, 'n');
  int published = 0;
  std::string refused;
  for (Rank rank = 0; rank < kRanks && refused.empty(); ++rank) {
    for (int i = 0; i < 64 && refused.empty(); ++i) {
      const Response answer = tree.of(rank, publish(cat(rank, ".", i, long_name), port));
      published += answer.ok ? 1 : 0;
      if (!answer.ok) refused = answer.error;
    }
  }
  CHECK(refused == "the names of a node's ranks take 16 MiB at most");
  CHECK(published > 900);
  CHECK(published < 1024);
  RequestId last = 1;
  tree.ask(39, ask::Name{NameAct::await, cat(long_name, long_name.substr(0, 100)), {}}, ++last);
  for (int i = 0; i < 64; ++i)
    tree.ask(39, ask::Name{NameAct::await, cat(i, long_name), {}}, ++last);
  tree.run();
  REQUIRE(tree.answer(39, last) != nullptr);
  CHECK(tree.answer(39, last)->error ==
        "the waiting look-ups of a node's ranks take 16 MiB at most");
  // A name that is unpublished or taken makes room again.
  CHECK(tree.of(0, unpublish(cat("0.0", long_name))).ok);
  CHECK(tree.of(39, ask::Name{NameAct::publish_once, cat("once", long_name), port}).ok);
  CHECK_FALSE(tree.of(39, publish(cat("more", long_name), port)).ok);
  CHECK(tree.of(38, lookup(cat("once", long_name))).ok);
  CHECK(tree.of(39, publish(cat("more", long_name), port)).ok);
}

TEST_CASE("a child asks about names for its own ranks only, and not at any length") {
  Chain chain;
  chain.launch();
  SECTION("its own") {
    chain.from(1, msg::NameAsked{3, 9, NameAct::publish, "n", "p"});
    CHECK_FALSE(chain.closed(1));
    REQUIRE(chain.sent<msg::NameAsked>(kParentLink).size() == 1);
    CHECK(chain.sent<msg::NameAsked>(kParentLink)[0].id == 9);
    chain.from(kParentLink, msg::NameAnswer{3, 9, true, "p"});
    CHECK(chain.sent<msg::NameAnswer>(1).size() == 1);
  }
  SECTION("another's") {
    chain.from(1, msg::NameAsked{0, 9, NameAct::lookup, "n", ""});
    CHECK(chain.closed(1));
  }
  SECTION("a long name") {
    chain.from(1, msg::NameAsked{3, 9, NameAct::lookup, std::string(1025, 'n'), ""});
    CHECK(chain.closed(1));
  }
  SECTION("a long port") {
    chain.from(1, msg::NameAsked{3, 9, NameAct::publish, "n", std::string(kMaxPublished + 1, 'p')});
    CHECK(chain.closed(1));
  }
  SECTION("an answer without a waiting look-up is dropped") {
    chain.from(kParentLink, msg::NameAnswer{0, 9, true, "p"});
    CHECK(chain.replies() == 0);
    CHECK(chain.actions.empty());
  }
}

TEST_CASE("a look-up that finds the link to the root lost fails instead of waiting") {
  Tree tree(4, 1, OnFailure::wait, 1000);
  CHECK(tree.of(3, publish("service", "port")).ok);
  tree.links.hold_attach = true;
  tree.crash(0);
  tree.run();
  for (const Rank rank : {1u, 3u})  // the orphan's own, and one below it
    CHECK(tree.of(rank, lookup("service")).error == "the way to the table of names was lost");
  tree.release_attach();
  tree.run();
  for (const Rank rank : {1u, 3u})
    CHECK(tree.of(rank, lookup("service")).parts[0].view() == "port");
}

TEST_CASE("a question that was under way when the way to the root was lost is given up") {
  Chain chain;
  Job job = *decode_job(chain.job_bytes());
  job.on_failure = OnFailure::wait;
  // The chain's agent is a child of another agent, and may be adopted.
  Agent agent(Role::agent);
  Actions actions;
  const auto give = [&](const Event& event) {
    actions.clear();
    agent.handle(event, actions);
  };
  const auto from = [&](LinkId link, Message message) {
    give(event::Received{link, std::move(message), 0});
  };
  msg::Start start;
  start.slice = {0, 2};
  start.nodes = 4;
  start.degree = 1;
  start.parent = 3;
  start.adopt_ms = 1000;
  from(kParentLink, start);
  from(kParentLink, msg::SliceHosts{true, Chunk(std::string("a\nb\n"))});
  msg::Hello hello;
  hello.node = 1;
  from(1, hello);
  from(1, msg::Ready{1});
  from(kParentLink, msg::JobBytes{true, Chunk(encode(job))});
  give(event::RankStarted{0});
  give(event::RankStarted{1});
  give(event::Asked{0, 5, lookup("service")});
  give(event::LinkEnded{kParentLink, "it crashed"});
  std::size_t told = 0;
  bool child_told = false;
  for (const Action& action : actions) {
    if (const auto* reply = std::get_if<action::Reply>(&action)) {
      CHECK(reply->id == 5);
      CHECK_FALSE(reply->response.ok);
      ++told;
    }
    if (const auto* send = std::get_if<action::Send>(&action)) {
      const auto* cut = std::get_if<msg::CutOff>(&send->message);
      child_told = child_told || (cut != nullptr && cut->now && send->link == 1);
    }
  }
  CHECK(told == 1);
  CHECK(child_told);
}

}  // namespace names_test
