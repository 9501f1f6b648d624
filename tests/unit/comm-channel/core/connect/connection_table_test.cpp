// Compares the table of states in docs/design/channel.md with the changes that happen. Each row has
// an object, a state, and each next state with the events that lead to it ("none on failed; ready
// on made"). A datagram is named by what it says. A change of an object may be caused by the end of
// another object that it depends on.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/unit/comm-channel/core/connect/connect_explorer.h"

namespace connection_table_test {

using namespace scela::channel::connect;
using namespace scela::channel::connect::test;

namespace {

Scenario scenario_for(Mode mode) {
  Scenario scenario;
  scenario.options.mode = mode;
  scenario.options.first_wait = scenario.options.longest_wait = Time(100);
  scenario.options.tries = 2;
  scenario.nodes = {0, 1, 1};
  return scenario;
}

// Runs a few scenarios of each mode, in which all possible events happen to a few processes.
std::string observed() {
  Transitions seen;
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    Scenario dying = scenario_for(mode);
    dying.wants = {{0, 1}, {0, 2}};
    dying.mortal = {0, 1, 2};
    dying.deaths = 1;
    dying.losses = 1;
    dying.late = mode == Mode::pairs ? 1 : 0;
    Scenario failing = scenario_for(mode);
    failing.wants = {{0, 1}, {0, 2}};
    failing.failing = 1;
    failing.breaks = 1;
    Scenario crossing = scenario_for(mode);
    crossing.nodes = {0, 1};
    crossing.wants = {{0, 1}, {1, 0}};
    crossing.leaves = {0, 1};
    crossing.losses = 1;
    crossing.late = mode == Mode::pairs ? 1 : 0;
    Scenario few = scenario_for(mode);
    few.nodes = {0, 1, 2};
    few.options.max_links = 1;
    few.wants = {{0, 1}, {0, 2}, {0, 1}};
    few.mortal = {1};
    few.deaths = 1;
    for (const Scenario& scenario : {dying, failing, crossing, few})
      CHECK(explore(scenario, &seen).states > 50);
  }
  return seen.text();
}

}  // namespace

TEST_CASE("connections: the table of states is what happens, and the document shows it") {
  std::ifstream file(SCELA_CHANNEL_DOCUMENT);
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  const std::string head = "| | state | next state and events |\n|---|---|---|\n";
  const std::size_t at = document.find(head);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = at + head.size();
  CHECK(document.substr(begin, document.find("\n\n", begin) + 1 - begin) == observed());
}

}  // namespace connection_table_test
