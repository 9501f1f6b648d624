// Returns what a command prints.
#pragma once

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

namespace scela::test {

inline std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char bytes[4096];
  while (const std::size_t got = ::fread(bytes, 1, sizeof bytes, pipe))
    text.append(bytes, got);
  ::pclose(pipe);
  return text;
}

}  // namespace scela::test
