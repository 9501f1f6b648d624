// Compares the table of states (comm-channel/core/connect/connection_table.h) with the changes that
// happen, and with what the document shows.
#include "comm-channel/core/connect/connection_table.h"

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
  const std::string seen = observed();
  CHECK(std::string(table_of_states()) == seen);
  std::ifstream file(SCELA_CHANNEL_DOCUMENT);
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  CHECK(document.find(table_of_states()) != std::string::npos);
}

}  // namespace connection_table_test
