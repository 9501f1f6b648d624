#include "nla/core/tree/agent.h"

#include <catch2/catch.hpp>

#include "tests/support/tree_harness.h"

namespace agent_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::TreeHarness;

namespace {

RankSet with_outcome(const action::JobEnded& ended, Ending ending) {
  RankSet out;
  for (const auto& [outcome, ranks] : ended.verdicts) {
    if (outcome.ending == ending) out.add(ranks);
  }
  return out;
}

ask::Collective call(CollectiveKind kind, const RankSet& set, Rank root = 0,
                     std::vector<Chunk> parts = {}) {
  return ask::Collective{kind, set, root, std::move(parts)};
}

}  // namespace

TEST_CASE("a healthy job starts, runs and ends on every node with one verdict per rank") {
  TreeHarness tree(13, 3);
  tree.begin();
  REQUIRE(tree.shell.ready);
  CHECK(tree.shell.ready_agents == 13);
  tree.launch(TreeHarness::job(13, 4));
  CHECK(tree.shell.launched);
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == "0-51");
  CHECK(tree.shell.first_failures.empty());
  CHECK(tree.root_left());
  CHECK(tree.all_left());
  CHECK(tree.shell.ended[0].stats.agents == 13);
}

TEST_CASE("no agent has more children than the degree") {
  TreeHarness tree(40, 3);
  tree.begin();
  for (std::uint32_t host = 0; host < 40; ++host)
    CHECK(tree.node(host).children.size() <= 3);
  CHECK(tree.root().children.size() == 3);
}

TEST_CASE("an unreachable inner node costs one node: its slice goes to the slice's next host") {
  TreeHarness tree(13, 3);
  tree.links.unreachable = {0};
  tree.begin();
  REQUIRE(tree.shell.ready);
  CHECK(tree.shell.ready_agents == 12);
  REQUIRE(tree.shell.failures.size() == 1);
  CHECK(tree.shell.failures[0].failure.node == 0);
  CHECK(tree.shell.failures[0].failure.why == "connection refused");
  CHECK(tree.node(1).parent == 0);
}

TEST_CASE("nodes that an agent may not start are started by the root, and nothing has failed") {
  TreeHarness tree(13, 3);
  tree.links.keyless = {0};
  tree.begin();
  REQUIRE(tree.shell.ready);
  CHECK(tree.shell.ready_agents == 13);
  CHECK(tree.shell.failures.empty());
  // Degree 3: node 0 looks after nodes 0 to 4.
  for (std::uint32_t node = 1; node < 5; ++node)
    CHECK(tree.node(node).parent == 0);
  CHECK(tree.node(6).parent != 0);
  tree.launch(TreeHarness::job(13, 2));
  CHECK(tree.shell.launched);
  tree.exit_all();
  tree.run();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(tree.shell.ended[0].stats.agents == 13);
}

TEST_CASE("a node that was handed back and fails at the root too is one failed node") {
  TreeHarness tree(7, 2);
  tree.links.keyless = {0};
  tree.links.unreachable = {2};
  tree.begin();
  REQUIRE(tree.shell.ready);
  CHECK(tree.shell.ready_agents == 6);
  REQUIRE(tree.shell.failures.size() == 1);
  CHECK(tree.shell.failures[0].failure.node == 2);
}

TEST_CASE("a job that is ended waits for no host that has not answered yet") {
  Agent root(Role::root);
  Actions actions;
  event::Begin begin;
  begin.hosts = {"a", "b"};
  begin.degree = 2;
  root.handle(begin, actions);
  actions.clear();
  msg::Hello hello;  // only the first child says hello
  root.handle(event::Received{1, hello, 0}, actions);
  actions.clear();
  root.handle(event::Stop{StopCause::signal, 2, 1000}, actions);
  std::vector<LinkId> closed;
  for (const Action& action : actions) {
    if (const auto* close = std::get_if<action::CloseLink>(&action)) closed.push_back(close->link);
  }
  CHECK(closed == std::vector<LinkId>{2});

  actions.clear();
  root.handle(event::ChildFailed{2, StartPhase::connect, "cancelled", false}, actions);
  const auto reported = [&] {
    return std::any_of(actions.begin(), actions.end(), [](const Action& action) {
      return std::holds_alternative<action::NodeFailed>(action);
    });
  };
  CHECK_FALSE(reported());
  CHECK_FALSE(root.finished());
  root.handle(event::Received{1, msg::Ready{1}, 0}, actions);
  root.handle(event::Received{1, msg::Done{}, 0}, actions);
  root.handle(event::Measured{}, actions);
  root.handle(event::ChildGone{1}, actions);
  CHECK(root.finished());
}

TEST_CASE("a slice without any reachable host is used up and the rest becomes ready") {
  TreeHarness tree(6, 2);
  tree.links.unreachable = {0, 1, 2};
  tree.begin();
  CHECK(tree.shell.ready);
  CHECK(tree.shell.ready_agents == 3);
  CHECK(tree.shell.failures.size() == 3);
}

TEST_CASE("a failing rank ends the job under kill and is named first") {
  TreeHarness tree(7, 2);
  tree.begin();
  tree.launch(TreeHarness::job(7, 2));
  Outcome crash;
  crash.ending = Ending::signaled;
  crash.code = 11;
  tree.exit(9, crash);
  tree.run();
  REQUIRE(tree.shell.first_failures.size() == 1);
  CHECK(tree.shell.first_failures[0].rank == 9);
  REQUIRE(tree.shell.ended.size() == 1);
  std::uint64_t ranks = 0;
  for (const auto& [outcome, set] : tree.shell.ended[0].verdicts) {
    ranks += set.size();
    if (outcome.ended_by_us) CHECK(outcome.code == 15);
  }
  CHECK(ranks == 14);
  CHECK(tree.all_left());
}

TEST_CASE("ranks that ignore the first signal are killed after the grace") {
  TreeHarness tree(3, 2);
  tree.programs.obey_signals = false;
  tree.begin();
  tree.launch(TreeHarness::job(3, 1));
  tree.post(0, event::Stop{StopCause::signal, 2, 500});
  tree.run();
  CHECK(tree.shell.ended.empty());
  for (std::uint32_t host = 0; host < 3; ++host) {
    CHECK(tree.node(host).signals == std::vector<int>{2});
    tree.fire(host, Timer::grace);
  }
  CHECK(tree.shell.ended.size() == 1);
  CHECK(tree.all_left());
}

TEST_CASE("a stop before the launch ends every agent without starting a rank") {
  TreeHarness tree(9, 2);
  tree.begin();
  tree.post(0, event::Stop{StopCause::agents_missing, 15, 100});
  tree.run();
  CHECK(tree.shell.ended.size() == 1);
  CHECK(tree.all_left());
}

TEST_CASE("a program that cannot be started ends the job with the error number") {
  TreeHarness tree(2, 2);
  tree.programs.not_startable = {3};
  tree.begin();
  tree.launch(TreeHarness::job(2, 2));
  REQUIRE(tree.shell.first_failures.size() == 1);
  CHECK(tree.shell.first_failures[0].rank == 3);
  CHECK(tree.shell.first_failures[0].outcome.ending == Ending::not_started);
  CHECK(tree.shell.first_failures[0].outcome.code == 2);
  CHECK(tree.all_left());
}

TEST_CASE("a node that cannot hold its ranks ends the whole job, whatever the policy") {
  const OnFailure policy = GENERATE(OnFailure::kill, OnFailure::wait);
  TreeHarness tree(3, 2);
  tree.programs.refusing = {1};
  tree.begin();
  tree.launch(TreeHarness::job(3, 100, policy));
  REQUIRE(tree.shell.first_failures.size() == 1);
  CHECK(tree.shell.first_failures[0].rank == 100);
  CHECK(tree.shell.first_failures[0].outcome.ending == Ending::refused);
  CHECK(tree.shell.first_failures[0].outcome.code == 11);
  CHECK(tree.shell.first_failures[0].outcome.why == "too many");
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::refused).text() == "100-199");
  CHECK(tree.all_left());
}

TEST_CASE("ranks that wait for the ranks of a node that cannot hold them are told at once") {
  Agent agent(Role::agent);
  Actions actions;
  const auto from_parent = [&](Message message) {
    agent.handle(event::Received{kParentLink, std::move(message), 0}, actions);
  };
  msg::Start start;
  start.slice = {0, 1};
  start.nodes = 2;
  start.degree = 1;
  from_parent(start);
  from_parent(msg::SliceHosts{true, Chunk(std::string("a\n"))});
  from_parent(msg::JobBytes{true, Chunk(encode(TreeHarness::job(2, 1u << 23, OnFailure::wait)))});
  const CollectiveId id{RankSet::run(0, 1u << 24), 0};
  from_parent(msg::CollectiveDown{id, CollectiveKind::barrier, 0, false, {}, {}, Chunk()});
  actions.clear();
  agent.handle(event::RanksRefused{RankSet::run(0, 1u << 23), 11, "too many"}, actions);
  std::size_t sent = 0;
  for (const Action& action : actions) {
    const auto* send = std::get_if<action::Send>(&action);
    if (send == nullptr) continue;
    ++sent;
    if (const auto* up = std::get_if<msg::CollectiveUp>(&send->message)) {
      CHECK(up->last);
      CHECK(up->missing == RankSet::run(0, 1u << 23));
    }
  }
  // The agent sends ProcessFail, CollectiveUp, Launched and Verdicts, and not one message for each
  // of eight million ranks.
  CHECK(sent == 4);
}

TEST_CASE("a refused rank ends the job, unless the command runs once on each host") {
  const bool once_per_host = GENERATE(false, true);
  Agent agent(Role::agent);
  Actions actions;
  const auto from_parent = [&](Message message) {
    agent.handle(event::Received{kParentLink, std::move(message), 0}, actions);
  };
  msg::Start start;
  start.slice = {0, 1};
  start.nodes = 2;
  start.degree = 1;
  from_parent(start);
  from_parent(msg::SliceHosts{true, Chunk(std::string("a\n"))});
  Job job = TreeHarness::job(2, 1, OnFailure::wait);
  job.once_per_host = once_per_host;
  from_parent(msg::JobBytes{true, Chunk(encode(job))});
  actions.clear();
  agent.handle(event::RanksRefused{RankSet::single(0), 22, "no such network"}, actions);
  std::vector<Outcome> told;
  for (const Action& action : actions) {
    const auto* send = std::get_if<action::Send>(&action);
    if (send == nullptr) continue;
    if (const auto* failed = std::get_if<msg::ProcessFail>(&send->message))
      told.push_back(failed->outcome);
  }
  REQUIRE(told.size() == 1);
  CHECK(told.front().why == "no such network");
  CHECK(told.front().ends_job() == !once_per_host);
}

TEST_CASE("a lost agent costs its subtree's ranks and, under kill, the job") {
  TreeHarness tree(7, 2);
  tree.begin();
  tree.launch(TreeHarness::job(7, 1));
  const std::uint32_t inner = 0;
  tree.crash(inner);
  tree.run();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::lost).contains(0));
  CHECK(tree.all_left());
}

TEST_CASE("a barrier releases no rank before the last rank has entered") {
  TreeHarness tree(5, 2);
  tree.begin();
  tree.launch(TreeHarness::job(5, 2));
  const RankSet world = RankSet::run(0, 10);
  for (Rank rank = 0; rank < 9; ++rank)
    tree.ask(rank, call(CollectiveKind::barrier, world));
  tree.run();
  CHECK(tree.programs.answers.empty());
  tree.ask(9, call(CollectiveKind::barrier, world));
  tree.run();
  CHECK(tree.programs.answers.size() == 10);
  for (const auto& one : tree.programs.answers)
    CHECK(one.response.ok);
}

TEST_CASE("pairs put before a fence are found everywhere after it, and nowhere else before") {
  TreeHarness tree(6, 2);
  tree.begin();
  tree.launch(TreeHarness::job(6, 2));
  const RankSet world = RankSet::run(0, 12);
  for (Rank rank = 0; rank < 12; ++rank) {
    tree.ask(rank, ask::Put{"k" + std::to_string(rank), Chunk("v" + std::to_string(rank))});
  }
  tree.run();
  tree.programs.answers.clear();
  tree.ask(0, ask::Get{"k1", false}, 2);  // same node
  tree.ask(0, ask::Get{"k5", false}, 3);
  tree.ask(0, ask::Get{"k5", true}, 4);
  tree.run();
  CHECK(tree.answer(0, 2)->found);
  CHECK_FALSE(tree.answer(0, 3)->found);
  CHECK(tree.answer(0, 4) == nullptr);
  for (Rank rank = 0; rank < 12; ++rank) {
    tree.ask(rank, call(CollectiveKind::fence, world), 5);
  }
  tree.run();
  REQUIRE(tree.answer(0, 4) != nullptr);
  CHECK(tree.answer(0, 4)->parts[0].view() == "v5");
  for (Rank rank = 0; rank < 12; ++rank)
    tree.ask(rank, ask::Get{"k11", false}, 6);
  tree.run();
  for (Rank rank = 0; rank < 12; ++rank)
    CHECK(tree.answer(rank, 6)->parts[0].view() == "v11");
}

TEST_CASE("collectives move every part to where it belongs, on subsets and with large parts") {
  const std::size_t size = GENERATE(0, 1, 1000, 200000);
  TreeHarness tree(7, 2);
  tree.begin();
  tree.launch(TreeHarness::job(7, 2));
  RankSet set;
  for (const Rank rank : {0, 1, 4, 5, 6, 9, 13})
    set.add(rank);
  const auto payload = [&](Rank from, Rank to) {
    return Chunk(std::string(size, static_cast<char>('a' + (from * 31 + to * 7) % 26)));
  };
  RequestId id = 10;
  const auto everybody = [&](CollectiveKind kind, Rank root, auto&& parts_of) {
    ++id;
    set.for_each([&](Rank rank) {
      std::vector<Chunk> parts = parts_of(rank);
      tree.ask(rank, call(kind, set, root, std::move(parts)), id);
    });
    tree.run();
    set.for_each([&](Rank rank) { REQUIRE(tree.answer(rank, id) != nullptr); });
    set.for_each([&](Rank rank) { CHECK(tree.answer(rank, id)->ok); });
  };
  const auto own = [&](Rank rank) { return std::vector<Chunk>{payload(rank, 0)}; };
  const auto per_member = [&](Rank rank) {
    std::vector<Chunk> parts;
    set.for_each([&](Rank to) { parts.push_back(payload(rank, to)); });
    return parts;
  };

  everybody(CollectiveKind::gather, 9, own);
  REQUIRE(tree.answer(9, id)->parts.size() == 7);
  CHECK(tree.answer(9, id)->parts[6] == payload(13, 0));
  CHECK(tree.answer(0, id)->parts.empty());

  everybody(CollectiveKind::allgather, 0, own);
  CHECK(tree.answer(6, id)->parts[3] == payload(5, 0));

  everybody(CollectiveKind::broadcast, 5,
            [&](Rank rank) { return rank == 5 ? own(rank) : std::vector<Chunk>{}; });
  CHECK(tree.answer(13, id)->parts[0] == payload(5, 0));

  everybody(CollectiveKind::scatter, 1,
            [&](Rank rank) { return rank == 1 ? per_member(rank) : std::vector<Chunk>{}; });
  CHECK(tree.answer(9, id)->parts[0] == payload(1, 9));

  everybody(CollectiveKind::alltoall, 0, per_member);
  CHECK(tree.answer(6, id)->parts[5] == payload(9, 6));
}

TEST_CASE("ranks that disagree about a collective are all told which ranks differ") {
  TreeHarness tree(3, 1);
  tree.begin();
  tree.launch(TreeHarness::job(3, 1));
  const RankSet world = RankSet::run(0, 3);
  tree.ask(0, call(CollectiveKind::barrier, world));
  tree.ask(1, call(CollectiveKind::allgather, world, 0, {Chunk("x")}));
  tree.ask(2, call(CollectiveKind::barrier, world));
  tree.run();
  for (Rank rank = 0; rank < 3; ++rank) {
    REQUIRE(tree.answer(rank) != nullptr);
    CHECK_FALSE(tree.answer(rank)->ok);
    CHECK(tree.answer(rank)->error.find("allgather") != std::string::npos);
    CHECK(tree.answer(rank)->disagreement);
  }
}

TEST_CASE("under wait a collective that a dead rank left open fails for the others") {
  TreeHarness tree(4, 2);
  tree.begin();
  tree.launch(TreeHarness::job(4, 2, OnFailure::wait));
  const RankSet world = RankSet::run(0, 8);
  for (Rank rank = 0; rank < 7; ++rank)
    tree.ask(rank, call(CollectiveKind::barrier, world));
  Outcome bad;
  bad.code = 3;
  tree.exit(7, bad);
  tree.run();
  for (Rank rank = 0; rank < 7; ++rank) {
    REQUIRE(tree.answer(rank) != nullptr);
    CHECK_FALSE(tree.answer(rank)->ok);
    CHECK(tree.answer(rank)->error == "rank 7 ended without taking part in the barrier");
    CHECK_FALSE(tree.answer(rank)->disagreement);
  }
  CHECK(tree.shell.first_failures.size() == 1);
  CHECK(tree.shell.ended.empty());
  tree.exit_all();
  CHECK(tree.shell.ended.size() == 1);
  CHECK(tree.all_left());
}

TEST_CASE("messages between ranks arrive in order, before or after they are received") {
  TreeHarness tree(9, 2);
  tree.begin();
  tree.launch(TreeHarness::job(9, 1));
  const std::string big(150000, 'z');
  tree.ask(8, ask::Receive{3, 7}, 1);
  tree.ask(3, ask::Send{8, 7, Chunk(big)}, 1);
  tree.ask(3, ask::Send{8, 7, Chunk("second")}, 2);
  tree.ask(3, ask::Send{8, 9, Chunk("other tag")}, 3);
  tree.run();
  REQUIRE(tree.answer(8, 1) != nullptr);
  CHECK(tree.answer(8, 1)->parts[0].view() == big);
  tree.ask(8, ask::Receive{3, 9}, 2);
  tree.ask(8, ask::Receive{3, 7}, 3);
  tree.run();
  CHECK(tree.answer(8, 2)->parts[0].view() == "other tag");
  CHECK(tree.answer(8, 3)->parts[0].view() == "second");
}

TEST_CASE("an abort ends the job even under wait, with the rank's code") {
  TreeHarness tree(4, 1);
  tree.begin();
  tree.launch(TreeHarness::job(4, 1, OnFailure::wait));
  tree.ask(2, ask::Abort{7, "MPI_Abort"});
  tree.run();
  REQUIRE(tree.shell.first_failures.size() == 1);
  CHECK(tree.shell.first_failures[0].outcome.code == 7);
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::aborted).text() == "2");
}

TEST_CASE("output reaches the root and credit comes back for more than every window") {
  TreeHarness tree(7, 2);
  tree.begin();
  tree.launch(TreeHarness::job(7, 1));
  const std::string piece(kMaxPiece, 'o');
  for (int i = 0; i < 40; ++i) {
    tree.post_to_host(6, event::RankOutput{6, Stream::out, Chunk(piece)});
    tree.run();
  }
  CHECK(tree.shell.output.size() == 40 * piece.size());
  CHECK(tree.root().agent.held_bytes() == 0);
}

namespace {

Job limited_job(std::uint32_t hosts, OnFailure on_failure) {
  Job job = TreeHarness::job(hosts, 1, on_failure);
  job.host_timeout_ms = 1000;
  return job;
}

}  // namespace

TEST_CASE("a host's time limit ends its ranks, and the others go on under wait") {
  TreeHarness tree(7, 2);
  tree.begin();
  tree.launch(limited_job(7, OnFailure::wait));
  REQUIRE(tree.node(3).timers.contains(Timer::limit));
  tree.fire(3, Timer::limit);
  CHECK(tree.node(3).signals == std::vector<int>{15});
  CHECK(tree.shell.ended.empty());
  CHECK(tree.node(2).signals.empty());
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::timed_out).text() == "3");
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == "0-2,4-6");
  CHECK(tree.all_left());
}

TEST_CASE("a rank that ignores the end of its host's time is killed after the grace") {
  TreeHarness tree(3, 2);
  tree.programs.obey_signals = false;
  tree.begin();
  tree.launch(limited_job(3, OnFailure::wait));
  tree.fire(1, Timer::limit);
  CHECK(tree.node(1).running.contains(1));
  REQUIRE(tree.node(1).timers.contains(Timer::limit));
  tree.fire(1, Timer::limit);
  CHECK(tree.node(1).running.empty());
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::timed_out).text() == "1");
}

TEST_CASE("a time limit means nothing to a host if its ranks have ended") {
  TreeHarness tree(3, 2);
  tree.begin();
  tree.launch(limited_job(3, OnFailure::wait));
  tree.exit(1);
  tree.run();
  tree.fire(1, Timer::limit);
  CHECK(tree.node(1).signals.empty());
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == "0-2");
}

TEST_CASE("under kill the first host that is out of time ends the job and is its cause") {
  TreeHarness tree(3, 2);
  tree.begin();
  tree.launch(limited_job(3, OnFailure::kill));
  tree.fire(2, Timer::limit);
  REQUIRE(tree.shell.ended.size() == 1);
  REQUIRE(tree.shell.first_failures.size() == 1);
  CHECK(tree.shell.first_failures[0].rank == 2);
  CHECK(tree.shell.first_failures[0].outcome.ending == Ending::timed_out);
}

TEST_CASE("a job goes on without the hosts that have no agent, each with its verdict") {
  TreeHarness tree(13, 3);
  tree.links.unreachable = {0, 4, 12};
  tree.begin();
  REQUIRE(tree.shell.ready_agents == 10);
  tree.launch(TreeHarness::job(13, 1, OnFailure::wait));
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::lost).text() == "0,4,12");
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == "1-3,5-11");
  CHECK(tree.all_left());
}

TEST_CASE("a job without any agent ends with a verdict for each host") {
  TreeHarness tree(3, 2);
  tree.links.unreachable = {0, 1, 2};
  tree.begin();
  REQUIRE(tree.shell.ready);
  tree.launch(TreeHarness::job(3, 1, OnFailure::wait));
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::lost).text() == "0-2");
}

}  // namespace agent_test
