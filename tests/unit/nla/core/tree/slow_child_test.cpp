// A child that takes long to answer keeps its node, not the nodes below it.
#include <catch2/catch.hpp>

#include "nla/core/tree/agent.h"

namespace slow_child_test {

using namespace scela;
using namespace scela::nla;

namespace {

// scela-run's agent over six hosts in a tree of degree 2: children on a (with b, c) and d (with e,
// f).
struct Root {
  explicit Root(char hosts = 6, std::uint32_t degree = 2, bool all_begin = true) {
    event::Begin begin;
    begin.job_id = "test";
    for (char i = 0; i < hosts; ++i)
      begin.hosts.emplace_back(1, static_cast<char>('a' + i));
    begin.degree = degree;
    give(begin);
    REQUIRE(started().size() == degree);
    if (!all_begin) return;
    for (LinkId link = 1; link <= degree; ++link)
      give(event::ChildBegun{link});
  }
  void give(const Event& event) {
    actions.clear();
    agent.handle(event, actions);
  }
  void from(LinkId link, Message message) { give(event::Received{link, std::move(message), 0}); }
  void hello(LinkId link, std::uint32_t node) {
    msg::Hello hello;
    hello.node = node;
    from(link, hello);
  }
  template <class A>
  std::vector<A> all() const {
    std::vector<A> found;
    for (const Action& action : actions) {
      if (const auto* one = std::get_if<A>(&action)) found.push_back(*one);
    }
    return found;
  }
  std::vector<std::string> started() const {
    std::vector<std::string> names;
    for (const auto& one : all<action::StartChild>())
      names.push_back(one.host);
    return names;
  }
  bool armed() const {
    const auto timers = all<action::SetTimer>();
    return timers.size() == 1 && timers[0].timer == Timer::slow;
  }
  std::string names_sent(LinkId link) const {
    std::string names;
    for (const auto& send : all<action::Send>()) {
      const auto* hosts = std::get_if<msg::SliceHosts>(&send.message);
      if (send.link == link && hosts != nullptr) names += hosts->names.view();
    }
    return names;
  }
  void time_is_up() { give(event::TimerFired{Timer::slow}); }

  Agent agent{Role::root};
  Actions actions;
};

}  // namespace

TEST_CASE(
    "the nodes below a child that does not answer are started here when all others are ready") {
  Root root;
  root.hello(1, 0);
  CHECK(root.names_sent(1) == "a\nb\nc\n");
  CHECK_FALSE(root.armed());  // it has work of its own
  root.from(1, msg::Ready{3});
  CHECK(root.armed());
  root.time_is_up();
  CHECK(root.started() == std::vector<std::string>{"e", "f"});
  CHECK(root.names_sent(2) == "d\n");
  CHECK(root.names_sent(3) == "e\n");  // it has none below it: it need not ask
  CHECK(root.all<action::NodeFailed>().empty());
  root.hello(2, 3);  // late
  CHECK(root.names_sent(2).empty());
  root.from(2, msg::Ready{1});
  root.hello(3, 4);
  root.from(3, msg::Ready{1});
  CHECK(root.all<action::AllReady>().empty());
  root.hello(4, 5);
  root.from(4, msg::Ready{1});
  REQUIRE(root.all<action::AllReady>().size() == 1);
  CHECK(root.all<action::AllReady>()[0].agents == 6);
}

TEST_CASE(
    "a slow child that fails after all costs its own node only, and its work is not done twice") {
  Root root;
  root.hello(1, 0);
  root.from(1, msg::Ready{3});
  root.time_is_up();
  root.give(event::ChildFailed{2, StartPhase::connect, "no answer", false});
  CHECK(root.started().empty());
  REQUIRE(root.all<action::NodeFailed>().size() == 1);
  CHECK(root.all<action::NodeFailed>()[0].failure.node == 3);
}

TEST_CASE("a child that answers in time keeps its work, and a ready one has none to lose") {
  Root root;
  root.hello(1, 0);
  root.from(1, msg::Ready{3});
  root.hello(2, 3);
  CHECK(root.names_sent(2) == "d\ne\nf\n");
  const auto cancelled = root.all<action::CancelTimer>();
  REQUIRE(cancelled.size() == 1);
  CHECK(cancelled[0].timer == Timer::slow);
  root.time_is_up();
  CHECK(root.started().empty());
}

TEST_CASE("work is taken once, and not where most are silent") {
  Root root(9, 3);  // a (b, c), d (e, f), g (h, i)
  root.hello(1, 0);
  root.from(1, msg::Ready{3});
  CHECK_FALSE(root.armed());  // two of three
  root.hello(2, 3);
  root.from(2, msg::Ready{3});
  CHECK(root.armed());
  root.time_is_up();
  CHECK(root.started() == std::vector<std::string>{"h", "i"});
  CHECK_FALSE(root.armed());
}

TEST_CASE("a child that waits for its turn is not slow and keeps its work") {
  Root root(6, 2, false);
  root.give(event::ChildBegun{1});
  root.hello(1, 0);
  root.from(1, msg::Ready{3});
  CHECK_FALSE(root.armed());
  SECTION("its turn comes, and it is slow") {
    root.give(event::ChildBegun{2});
    CHECK(root.armed());
    root.time_is_up();
    CHECK(root.started() == std::vector<std::string>{"e", "f"});
  }
  SECTION("its turn comes") {
    root.give(event::ChildBegun{2});
    root.hello(2, 3);
    CHECK(root.names_sent(2) == "d\ne\nf\n");
  }
}

TEST_CASE("nothing is taken from the slow while others wait for their turn") {
  Root root(9, 3, false);  // a (b, c), d (e, f), g (h, i)
  root.give(event::ChildBegun{1});
  root.give(event::ChildBegun{2});
  root.hello(1, 0);
  root.from(1, msg::Ready{3});
  CHECK_FALSE(root.armed());
  root.give(event::ChildBegun{3});
  CHECK_FALSE(root.armed());  // two of three
  root.hello(3, 6);
  root.from(3, msg::Ready{3});
  CHECK(root.armed());
  root.time_is_up();
  CHECK(root.started() == std::vector<std::string>{"e", "f"});
}

TEST_CASE("a child speaks for no node that was taken from it") {
  Root root;
  root.hello(1, 0);
  root.from(1, msg::Ready{3});
  root.time_is_up();
  root.hello(2, 3);
  SECTION("more agents than it was left") {
    root.from(2, msg::Ready{3});
  }
  SECTION("the failure of another's node") {
    root.from(2, msg::NodeFailed{4, StartPhase::connect, "lie"});
  }
  const auto closed = root.all<action::CloseLink>();
  REQUIRE(closed.size() == 1);
  CHECK(closed[0].link == 2);
}

TEST_CASE("an agent with a host list shorter than its slice answers for those hosts alone") {
  Agent agent{Role::agent};
  Actions actions;
  const auto give = [&](Message message) {
    actions.clear();
    agent.handle(event::Received{kParentLink, std::move(message), 0}, actions);
  };
  msg::Start start;
  start.slice = {3, 6};
  start.nodes = 6;
  start.degree = 2;
  give(start);
  give(msg::SliceHosts{true, Chunk(std::string("d\n"))});
  bool ready = false;
  for (const Action& action : actions) {
    CHECK_FALSE(std::holds_alternative<action::StartChild>(action));
    const auto* send = std::get_if<action::Send>(&action);
    if (send != nullptr && std::holds_alternative<msg::Ready>(send->message)) ready = true;
  }
  CHECK(ready);
}

}  // namespace slow_child_test
