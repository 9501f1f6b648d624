// Agents that are wrong on purpose: each must break the invariant that is there for it.
#include "tests/sim/world/world.h"

#include <catch2/catch.hpp>

#include "nla/core/record/record.h"
#include "tests/sim/generator/generate.h"
#include "tests/sim/generator/payload.h"

namespace scela::sim::world_test {
namespace {

namespace action = nla::action;
namespace event = nla::event;
namespace msg = nla::msg;
using nla::Action;
using nla::Actions;
using nla::Event;

// Seven nodes in two levels, three ranks each, every kind of step; nothing goes wrong.
Schedule calm() {
  const auto schedule = parse_schedule(
      "job delay_seed=5 hosts=7 degree=2 on_failure=kill policy=hcmab stdin_ranks=0 "
      "stdin_bytes=5000\n"
      "pace link_min=20 link_max=200 tail=50 start_min=1000 start_max=9000 notice_max=5000 "
      "think_max=50 show_max=300\n"
      "place node=0 ranks=3\nplace node=1 ranks=3\nplace node=2 ranks=3\nplace node=3 ranks=3\n"
      "place node=4 ranks=3\nplace node=5 ranks=3\nplace node=6 ranks=3\n"
      "op id=1 kind=put rank=4 size=100\n"
      "op id=2 kind=collective what=fence set=0-20\n"
      "op id=3 kind=get rank=20 peer=4 ref=1\n"
      "op id=4 kind=collective what=allgather set=0-20 size=50\n"
      "op id=5 kind=collective what=broadcast set=0-20 rank=9 size=150000\n"
      "op id=6 kind=output rank=13 size=200000\n"
      "op id=7 kind=output rank=20 size=100 wait=1\n"
      "op id=8 kind=send rank=3 peer=19 size=70000\n"
      "op id=9 kind=receive rank=19 peer=3\n"
      "op id=10 kind=read_input rank=0 size=6000\n"
      "op id=11 kind=collective what=barrier set=0-20\n");
  REQUIRE(schedule);
  return *schedule;
}

// Returns the calm schedule with a rank that fails while others wait; one of them ignores SIGTERM.
Schedule failing() {
  Schedule schedule = calm();
  schedule.stubborn = RankSet::single(16);
  Op op;
  op.id = 50;
  op.kind = OpKind::leave;
  op.rank = 7;
  op.code = 3;
  schedule.ops.insert(schedule.ops.begin() + 8, op);
  op = Op{};  // the deaf one has nothing else to do
  op.id = 51;
  op.kind = OpKind::pause;
  op.rank = 16;
  op.size = 2'000'000'000;
  schedule.ops.insert(schedule.ops.begin() + 8, op);
  return schedule;
}

// Returns the calm schedule with ranks that are spawned on five hosts without agents, and exchange
// pairs.
Schedule growing() {
  Schedule schedule = calm();
  const auto more = parse_schedule(
      "op id=60 kind=spawn rank=2 size=12 ref=5\n"
      "op id=61 kind=put rank=22 size=100\n"
      "op id=62 kind=collective what=fence set=21-32\n"
      "op id=63 kind=get rank=32 peer=22 ref=61\n"
      "op id=64 kind=output rank=24 size=100000\n");
  REQUIRE(more);
  schedule.ops.insert(schedule.ops.begin() + 4, more->ops.begin(), more->ops.end());
  REQUIRE(schedule.peaceful());
  return schedule;
}

using Tamper = std::function<void(std::uint32_t, const Event&, Actions&)>;

std::string broken(const Schedule& schedule, Tamper tamper) {
  const std::string failure = World(schedule, {std::move(tamper), {}}).run().failure;
  UNSCOPED_INFO(failure);
  return failure;
}

// Drops, or doubles, the first action that `is_it` picks.
Tamper once(const std::function<bool(std::uint32_t, const Action&)>& is_it, bool twice = false) {
  auto done = std::make_shared<bool>(false);
  return [=](std::uint32_t node, const Event&, Actions& actions) {
    for (std::size_t i = 0; i < actions.size() && !*done; ++i) {
      if (!is_it(node, actions[i])) continue;
      *done = true;
      const auto at = actions.begin() + static_cast<std::ptrdiff_t>(i);
      if (twice) {
        const Action copy = *at;
        actions.insert(at, copy);
      } else {
        actions.erase(at);
      }
    }
  };
}

template <class A>
bool is(const Action& action) {
  return std::holds_alternative<A>(action);
}
template <class M>
bool sends(const Action& action) {
  const auto* send = std::get_if<action::Send>(&action);
  return send != nullptr && std::holds_alternative<M>(send->message);
}
template <class A>
std::function<bool(std::uint32_t, const Action&)> any(bool only_agents = false) {
  return [=](std::uint32_t node, const Action& action) {
    return (!only_agents || node != 0) && is<A>(action);
  };
}
template <class M>
std::function<bool(std::uint32_t, const Action&)> message() {
  return [](std::uint32_t, const Action& action) { return sends<M>(action); };
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("The untouched agent keeps every invariant") {
  CHECK(broken(calm(), {}) == "");
  CHECK(broken(failing(), {}) == "");
}

TEST_CASE("A lost message is noticed") {
  CHECK(has(broken(calm(), once(message<msg::CollectiveUp>())), "hang"));
  CHECK(broken(calm(), once(message<msg::CollectiveDown>())) != "");
  CHECK(has(broken(calm(), once(message<msg::Hello>())), "kept to the protocol"));
  CHECK(broken(calm(), once(message<msg::JobBytes>())) != "");
  CHECK(broken(calm(), once(message<msg::Launched>())) != "");
  CHECK(broken(calm(), once(message<msg::Output>())) != "");
  CHECK(broken(calm(), once(message<msg::RoutedMessage>())) != "");
  CHECK(broken(calm(), once(message<msg::Shutdown>())) != "");
  CHECK(broken(calm(), once(message<msg::Done>())) != "");
  CHECK(has(broken(failing(),
                   [](std::uint32_t, const Event&, Actions& actions) {
                     std::erase_if(actions,
                                   [](const Action& one) { return sends<msg::Terminate>(one); });
                   }),
            "had to give up"));
}

TEST_CASE(
    "Hosts that are added too early, not at all, or without all that others know are noticed") {
  CHECK(broken(growing(), {}) == "");
  const auto late = [](const auto& wanted) {  // on a link that was not there when the job began
    return once([wanted](std::uint32_t node, const Action& action) {
      const auto* send = std::get_if<action::Send>(&action);
      return node == 0 && send != nullptr && send->link > 2 && wanted(action);
    });
  };
  CHECK(broken(growing(), late(sends<msg::JobBytes>)) != "");
  CHECK(broken(growing(), late(sends<msg::WorldBytes>)) != "");
  CHECK(broken(growing(), late(sends<msg::Shutdown>)) != "");
  CHECK(has(broken(growing(), once(any<action::HostsAdded>())), "hang"));
  const auto early = [](std::uint32_t, const Event& event, Actions& actions) {
    if (std::holds_alternative<event::AddHosts>(event))
      actions.push_back(action::HostsAdded{Slice{7, 12}});
  };
  CHECK(has(broken(growing(), early), "is said to have been added, and has no agent"));
}

TEST_CASE("A doubled message is noticed") {
  CHECK(broken(calm(), once(message<msg::CollectiveUp>(), true)) != "");
  CHECK(broken(calm(), once(message<msg::Output>(), true)) != "");
  CHECK(broken(calm(), once(message<msg::RoutedMessage>(), true)) != "");
  CHECK(has(broken(calm(), once(message<msg::Done>(), true)), "after Done"));
  CHECK(broken(calm(), once(message<msg::Stdin>(), true)) != "");
}

TEST_CASE("An answer that is missing, doubled or wrong is noticed") {
  CHECK(has(broken(calm(), once(any<action::Reply>())), "hang"));
  CHECK(has(broken(calm(), once(any<action::Reply>(), true)), "twice"));
  const auto change = [](auto&& edit) {
    return [=](std::uint32_t, const Event&, Actions& actions) {
      for (Action& one : actions) {
        if (auto* reply = std::get_if<action::Reply>(&one)) edit(*reply);
      }
    };
  };
  CHECK(has(broken(calm(), change([](action::Reply& reply) { reply.rank = 20 - reply.rank; })),
            "not on it"));
  CHECK(has(broken(calm(), change([](action::Reply& reply) {
                     if (reply.response.parts.size() > 1)
                       std::swap(reply.response.parts[0], reply.response.parts[1]);
                   })),
            "wrong result"));
  CHECK(has(broken(calm(), change([](action::Reply& reply) {
                     if (reply.response.found) reply.response.found = false;
                   })),
            "was not found"));
  CHECK(has(broken(calm(), change([](action::Reply& reply) {
                     reply.response.ok = false;
                     reply.response.error = "no reason";
                   })),
            "failed without a reason"));
}

TEST_CASE("Output that is lost, reordered or out of credit is noticed") {
  CHECK(has(broken(calm(), once(any<action::ShowOutput>())), "output"));
  CHECK(broken(calm(), once(any<action::ShowOutput>(), true)) != "");
  // Credit that the parent never gave.
  CHECK(has(broken(calm(),
                   [](std::uint32_t, const Event& event, Actions& actions) {
                     const auto* output = std::get_if<nla::event::RankOutput>(&event);
                     if (output == nullptr) return;
                     for (int i = 0; i < 8; ++i) {
                       actions.emplace_back(action::Send{
                           nla::kParentLink,
                           msg::Output{output->rank, output->stream, false, output->bytes}});
                     }
                   }),
            "credit"));
}

TEST_CASE("A verdict that is missing, doubled or wrong is noticed") {
  const auto verdicts = [](auto&& edit) {
    return [=](std::uint32_t, const Event&, Actions& actions) {
      for (Action& one : actions) {
        if (auto* ended = std::get_if<action::JobEnded>(&one)) edit(ended->verdicts);
      }
    };
  };
  CHECK(has(broken(calm(), verdicts([](auto& groups) { groups.clear(); })), "verdicts on ranks"));
  CHECK(has(broken(calm(), verdicts([](auto& groups) { groups.push_back(groups.front()); })),
            "verdicts on ranks"));
  CHECK(has(broken(calm(), verdicts([](auto& groups) { groups.front().first.code = 1; })),
            "is said to be"));
  CHECK(has(broken(failing(), verdicts([](auto& groups) {
                     for (auto& group : groups)
                       group.first.ended_by_us = false;
                   })),
            "is said to be"));
  CHECK(has(broken(failing(), once(any<action::FirstFailure>())), "no FirstFailure"));
  CHECK(has(broken(calm(), once(any<action::JobEnded>())), "without JobEnded"));
}

TEST_CASE("A rank that outlives its job, and an agent that leaves too early, are noticed") {
  // The stubborn rank is never killed by force.
  CHECK(broken(failing(), [](std::uint32_t, const Event&, Actions& actions) {
          for (Action& one : actions) {
            if (auto* end = std::get_if<action::EndLeftovers>(&one)) end->force = false;
          }
        }) != "");
  CHECK(has(broken(calm(),
                   [](std::uint32_t, const Event&, Actions& actions) {
                     std::erase_if(actions,
                                   [](const Action& one) { return is<action::CancelTimer>(one); });
                   }),
            "timer"));
  CHECK(broken(calm(), once(any<action::Finish>(true))) != "");
  CHECK(has(broken(calm(),
                   [](std::uint32_t node, const Event& event, Actions& actions) {
                     if (node == 3 && std::holds_alternative<nla::event::RankStarted>(event)) {
                       actions.emplace_back(action::Finish{});
                     }
                   }),
            "finishes"));
  CHECK(has(broken(calm(), once(any<action::StartRanks>())), "stuck"));
  CHECK(has(broken(calm(), once(any<action::StartRanks>(), true)), "started twice"));
}

// The last rank has a terminal. Its size changes while the rank runs.
Schedule resized() {
  Schedule schedule = calm();
  schedule.terminal_ranks = RankSet::single(20);
  for (Micros at = 2000; at < 40'000; at += 2000)
    schedule.windows.push_back({at, true});
  return schedule;
}

TEST_CASE("A size of the terminal that is lost, old or at the wrong node is noticed") {
  CHECK(World(resized()).run().failure.empty());
  const auto change = [](const std::function<void(Actions&, std::size_t)>& what) {
    return [=](std::uint32_t, const Event&, Actions& actions) {
      for (std::size_t i = actions.size(); i-- > 0;) {
        if (std::holds_alternative<action::ResizeTerminal>(actions[i])) what(actions, i);
      }
    };
  };
  CHECK(broken(resized(), change([](Actions& actions, std::size_t i) {
                 actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(i));
               }))
            .find("has size 0, not") != std::string::npos);
  WindowSize first;
  bool known = false;
  CHECK(broken(resized(), change([&](Actions& actions, std::size_t i) {
                 auto& size = std::get<action::ResizeTerminal>(actions[i]).size;
                 if (!std::exchange(known, true)) first = size;
                 size = first;
               }))
            .find("has size 1, not") != std::string::npos);
  const auto elsewhere = [](std::uint32_t node, const Event& event, Actions& actions) {
    if (node == 0 && std::holds_alternative<event::WindowChanged>(event)) {
      actions.push_back(action::ResizeTerminal{});
    }
  };
  CHECK(broken(resized(), elsewhere).find("has none") != std::string::npos);
}

TEST_CASE("A node that is reported as failed without reason, or counted wrongly, is noticed") {
  CHECK(has(broken(calm(),
                   [](std::uint32_t node, const Event&, Actions& actions) {
                     if (node == 0) actions.emplace_back(action::NodeFailed{{3, {}, "made up"}});
                   }),
            "reported as failed"));
  CHECK(has(broken(calm(),
                   [](std::uint32_t, const Event&, Actions& actions) {
                     for (Action& one : actions) {
                       if (auto* ready = std::get_if<action::AllReady>(&one)) --ready->agents;
                     }
                   }),
            "AllReady"));
}

TEST_CASE("A payload is handed on, never copied, from the asker to the agent that is answered") {
  Schedule schedule = calm();
  schedule.codec_every = 0;
  std::size_t shared = 0;
  const char* first = payload(8, 1).view().data();  // op 8 sends 70000 bytes, in two pieces
  World(schedule, {{},
                   [&](std::uint32_t, const Event&, const Actions& actions) {
                     for (const Action& one : actions) {
                       const auto* send = std::get_if<action::Send>(&one);
                       if (send == nullptr) continue;
                       const auto* routed = std::get_if<msg::RoutedMessage>(&send->message);
                       if (routed == nullptr) continue;
                       REQUIRE(routed->bytes.view().data() == first + routed->offset);
                       ++shared;
                     }
                   }})
      .run();
  CHECK(shared >= 4);  // two pieces over at least two links
}

TEST_CASE("An agent hands the first piece of a broadcast on before it holds the last") {
  // Agent -> pieces with data that it was given, and had given, when the first one left.
  std::map<std::uint32_t, int> received;
  std::map<std::uint32_t, int> received_at_first_send;
  World(calm(), {{},
                 [&](std::uint32_t node, const Event& event, const Actions& actions) {
                   const auto is_piece = [](const nla::Message& message) {
                     const auto* down = std::get_if<msg::CollectiveDown>(&message);
                     return down != nullptr && down->kind == nla::CollectiveKind::broadcast &&
                            !down->records.empty();
                   };
                   const auto* got = std::get_if<nla::event::Received>(&event);
                   if (got != nullptr && is_piece(got->message)) ++received[node];
                   for (const Action& one : actions) {
                     const auto* send = std::get_if<action::Send>(&one);
                     if (send == nullptr || !is_piece(send->message)) continue;
                     received_at_first_send.emplace(node, received[node]);
                   }
                 }})
      .run();
  int inner = 0;
  for (const auto& [node, count] : received_at_first_send) {
    if (node == 0) continue;
    ++inner;
    CHECK(count == 1);
    CHECK(received[node] >= 3);
  }
  CHECK(inner >= 2);
}

TEST_CASE("The same schedule gives the same events, and every event counts in the hash") {
  const Schedule schedule = make_schedule(11, Limits{});
  const RunResult first = World(schedule).run();
  REQUIRE(first.ok());
  CHECK(World(schedule).run().hash == first.hash);
  Schedule other = schedule;
  ++other.delay_seed;
  CHECK(World(other).run().hash != first.hash);
}

TEST_CASE("The record of a simulated agent replays to the same actions") {
  for (const std::uint64_t seed : {3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u}) {
    const Schedule schedule = make_schedule(seed, Limits{});
    for (const std::uint32_t chosen : {0u, 1u}) {
      nla::RecordWriter record(chosen == 0 ? nla::Role::root : nla::Role::agent);
      const RunResult result =
          World(schedule, {{},
                           [&](std::uint32_t node, const Event& event, const Actions& actions) {
                             if (node == chosen) record.add(event, actions);
                           }})
              .run();
      REQUIRE(result.ok());
      const std::string log = record.take();
      const auto report = nla::replay(log);
      INFO("seed " << seed << ", agent " << chosen);
      REQUIRE(report);
      INFO(report->text());
      CHECK(report->events > 0);
      CHECK_FALSE(report->difference);
      CHECK_FALSE(report->cut_short);
    }
  }
}

TEST_CASE("A replay finds a record with changed actions") {
  nla::RecordWriter record(nla::Role::root);
  World(calm(), {{},
                 [&](std::uint32_t node, const Event& event, const Actions& actions) {
                   if (node != 0) return;
                   Actions changed = actions;
                   if (!changed.empty() && is<action::AllReady>(changed.back())) changed.pop_back();
                   record.add(event, changed);
                 }})
      .run();
  const std::string log = record.take();
  const auto report = nla::replay(log);
  REQUIRE(report);
  CHECK(report->difference);
}

}  // namespace
}  // namespace scela::sim::world_test
