// Explores connections of two and three processes in every order of events (connect_explorer.h).
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>

#include "tests/unit/comm-channel/core/connect/connect_explorer.h"

namespace connect_explore_test {

using namespace scela::channel::connect;
using namespace scela::channel::connect::test;

namespace {

Options options_for(Mode mode) {
  Options options;
  options.mode = mode;
  options.first_wait = options.longest_wait = Time(100);
  options.tries = 4;
  return options;
}

void check(const Scenario& scenario, std::size_t at_least) {
  const Explored explored = explore(scenario);
  INFO("mode " << static_cast<int>(scenario.options.mode) << ": " << explored.states << " states, "
               << explored.rests << " of them at rest");
  CHECK(explored.wrong == "");
  CHECK(explored.states >= at_least);
  CHECK(explored.rests > 0);
  if (std::getenv("SCELA_SHOW") != nullptr) {
    std::cout << static_cast<int>(scenario.options.mode) << ' ' << explored.states << ' '
              << explored.rests << std::endl;
  }
}

}  // namespace

TEST_CASE("connections: two processes connect at once, with losses, copies and a death") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1};
    scenario.wants = {{0, 1}, {1, 0}};
    scenario.mortal = {0, 1};
    scenario.losses = 1;
    scenario.copies = 1;
    scenario.deaths = 1;
    scenario.early = 1;
    check(scenario, 500);
  }
}

TEST_CASE(
    "connections: two ranks of a node are reached by one link, and either may die at any step") {
  for (const Mode mode : {Mode::shared, Mode::owned}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1, 1};
    scenario.wants = {{0, 1}, {0, 2}};
    scenario.mortal = {0, 1, 2};
    scenario.losses = 1;
    scenario.deaths = 1;
    check(scenario, 500);
  }
}

TEST_CASE("connections: two ranks of a node die in turn, and no queue pair stays held") {
  for (const Mode mode : {Mode::shared, Mode::owned}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1, 1};
    scenario.wants = {{0, 1}, {0, 2}};
    scenario.mortal = {0, 1, 2};
    scenario.deaths = 2;
    check(scenario, 500);
  }
}

TEST_CASE("connections: copied and early answers to two ranks of a node change nothing") {
  for (const Mode mode : {Mode::shared, Mode::owned}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1, 1};
    scenario.wants = {{0, 1}, {0, 2}};
    scenario.copies = 2;
    scenario.early = 1;
    check(scenario, 500);
  }
}

TEST_CASE("connections: with a limit of one, the link moves from node to node") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.options.max_links = 1;
    scenario.nodes = {0, 1, 2};
    scenario.wants = {{0, 1}, {0, 2}, {0, 1}};
    scenario.mortal = {1};
    scenario.losses = 1;
    scenario.deaths = 1;
    check(scenario, 500);
  }
}

TEST_CASE("connections: the one link serves two of a node before it goes to another") {
  for (const Mode mode : {Mode::shared, Mode::owned}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.options.max_links = 1;
    scenario.nodes = {0, 1, 1, 2};
    scenario.wants = {{0, 1}, {0, 3}, {0, 2}};
    scenario.losses = 1;
    check(scenario, 500);
  }
}

TEST_CASE("connections: a process that leaves is sent nothing more and holds no queue pair") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1, 1};
    scenario.wants = {{0, 1}, {0, 2}};
    scenario.leaves = {1};
    scenario.losses = 1;
    scenario.copies = 1;
    check(scenario, 500);
  }
}

TEST_CASE("connections: all leave in any order, and no queue pair is left") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1};
    scenario.wants = {{0, 1}, {1, 0}};
    scenario.leaves = {0, 1};
    scenario.losses = 1;
    check(scenario, 500);
  }
}

TEST_CASE("connections: no queue pair is left if one process leaves and the other dies") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1};
    scenario.wants = {{0, 1}, {1, 0}};
    scenario.leaves = {1};
    scenario.mortal = {0};
    scenario.deaths = 1;
    scenario.copies = 1;
    check(scenario, 500);
  }
}

TEST_CASE("connections: three leave where two are reached by one link") {
  for (const Mode mode : {Mode::shared, Mode::owned}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1, 1};
    scenario.wants = {{0, 1}, {0, 2}};
    scenario.leaves = {0, 1, 2};
    check(scenario, 500);
  }
}

TEST_CASE("connections: a link that breaks is made anew, and what it led to is let go") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1, 1};
    scenario.wants = {{0, 1}, {0, 2}};
    scenario.losses = 1;
    scenario.breaks = 1;
    check(scenario, 500);
  }
}

TEST_CASE("connections: a queue pair that cannot be made fails all that wait and leaves nothing") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1, 1};
    scenario.wants = {{0, 1}, {0, 2}, {2, 0}};
    scenario.losses = 1;
    scenario.failing = 1;
    check(scenario, 500);
  }
}

TEST_CASE("connections: three processes, each a node, connect in a ring, and one dies") {
  for (const Mode mode : {Mode::shared, Mode::pairs}) {
    Scenario scenario;
    scenario.options = options_for(mode);
    scenario.nodes = {0, 1, 2};
    scenario.wants = {{0, 1}, {1, 2}, {2, 0}};
    scenario.mortal = {1};
    scenario.deaths = 1;
    check(scenario, 500);
  }
}

TEST_CASE("connections: with RC queue pairs connect late, and anything may happen before they do") {
  Scenario scenario;
  scenario.options = options_for(Mode::pairs);
  scenario.nodes = {0, 1};
  scenario.wants = {{0, 1}, {1, 0}};
  scenario.late = 2;
  Scenario leaving = scenario;
  leaving.leaves = {0, 1};
  Scenario dying = scenario;
  dying.late = 1;
  dying.mortal = {0, 1};
  dying.deaths = 1;
  dying.losses = 1;
  Scenario breaking = scenario;
  breaking.wants = {{0, 1}};
  breaking.breaks = 1;
  breaking.leaves = {1};
  Scenario few = scenario;
  few.options.max_links = 1;
  few.nodes = {0, 1, 2};
  few.wants = {{0, 1}, {0, 2}, {0, 1}};
  Scenario slow = scenario;
  slow.wants = {{0, 1}};
  slow.late = 1;
  slow.early = options_for(Mode::pairs).tries;
  for (const Scenario& one : {leaving, dying, breaking, few, slow})
    check(one, 200);
}

}  // namespace connect_explore_test
