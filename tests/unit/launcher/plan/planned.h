// The plan that a command makes on a machine without anything of its own.
#pragma once

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

#include "launcher/plan/plan.h"

namespace scela::testing {

inline Plan plan(std::vector<std::string> words) {
  OptionSources sources;
  sources.words = std::move(words);
  auto options = parse_options(sources);
  REQUIRE(options);
  Surroundings around;
  around.job_id = "j1";
  around.host_name = "here";
  around.directory = "/data";
  auto made = make_plan(*options, around);
  if (!made) FAIL(made.error().text());
  return *made;
}

}  // namespace scela::testing
