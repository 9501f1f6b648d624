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
  LaunchContext context;
  context.job_id = "j1";
  context.host_name = "here";
  context.directory = "/data";
  auto made = make_plan(*options, context);
  if (!made) FAIL(made.error().text());
  return *made;
}

}  // namespace scela::testing
