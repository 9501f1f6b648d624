#include "launcher/core/options/config_text.h"

#include <catch2/catch.hpp>
#include <sstream>
#include <utility>

#include "launcher/core/options/option_table.h"

namespace config_text_test {

using namespace scela;

namespace {

// Returns the lines that begin with the option's name, with single blanks.
std::vector<std::string> lines_of(const std::string& option, std::vector<std::string> words,
                                  std::vector<std::pair<std::string, std::string>> environment = {},
                                  std::string config = "") {
  words.insert(words.begin(), "--show-config");
  const auto options =
      parse_options({std::move(words), std::move(environment), "my.conf", std::move(config)});
  REQUIRE(options);
  std::istringstream text(config_text(*options));
  std::vector<std::string> found;
  for (std::string line; std::getline(text, line);) {
    std::istringstream parts(line);
    std::string joined;
    for (std::string part; parts >> part;)
      joined += (joined.empty() ? "" : " ") + part;
    if (joined.starts_with(option + " ")) found.push_back(joined);
  }
  return found;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("an option's value has the source that won") {
  CHECK(lines_of("max-depth", {}) == Lines{"max-depth 1 to 3, the fastest default"});
  CHECK(lines_of("max-depth", {}, {}, "#\nmax-depth = 4\n") == Lines{"max-depth 4 my.conf:2"});
  CHECK(lines_of("max-depth", {}, {{"SCELA_MAX_DEPTH", "5"}}, "max-depth = 4\n") ==
        Lines{"max-depth 5 SCELA_MAX_DEPTH"});
  CHECK(lines_of("max-depth", {"--max-depth", "6"}, {{"SCELA_MAX_DEPTH", "5"}}) ==
        Lines{"max-depth 6 command line"});
  CHECK(lines_of("label", {"-l"}) == Lines{"label yes command line"});
  CHECK(lines_of("timeout", {}) == Lines{"timeout - default"});
}

TEST_CASE("a source that names the hosts takes the place of a lower one's host file") {
  CHECK(lines_of("hostfile", {"-w", "a"}, {{"SCELA_HOSTFILE", "f"}}) ==
        Lines{"hostfile - default"});
  CHECK(lines_of("hosts", {"-w", "a"}, {{"SCELA_HOSTFILE", "f"}}) == Lines{"hosts a command line"});
  CHECK(lines_of("hostfile", {}, {{"SCELA_HOSTFILE", "f"}}) == Lines{"hostfile f SCELA_HOSTFILE"});
}

TEST_CASE("each value of a repeatable option, and each program's own options, have a line") {
  CHECK(lines_of("env", {"--env", "A=1", "./p"}, {}, "env = B=2\n") ==
        Lines{"env B=2 my.conf:1", "env A=1 command line"});
  CHECK(lines_of("np", {"-n", "2", "./p", ":", "-n", "3", "-n", "4", "./q"}) ==
        Lines{"np 2 command line", "np 4 command line, program 2"});
  CHECK(lines_of("hosts", {"-w", "a", "-w", "b"}) ==
        Lines{"hosts a command line", "hosts b command line"});
  CHECK(lines_of("hosts", {"-w", "b"}, {{"SCELA_HOSTS", "a"}}) == Lines{"hosts b command line"});
}

TEST_CASE("every option that a source can set has a line, without a program") {
  const auto options = parse_options({{"--show-config"}, {}, "", {}});
  REQUIRE(options);
  const std::string text = "\n" + config_text(*options);
  for (const OptionRow& row : option_table()) {
    INFO(row.name);
    if (row.in_config()) CHECK(text.find("\n" + std::string(row.name) + " ") != std::string::npos);
  }
}

TEST_CASE("the default that help names is the value that holds") {
  for (const OptionRow& row : option_table()) {
    INFO(row.name);
    const std::string value(default_of(row));
    CHECK(value.find_first_of("()") == std::string::npos);
    // These defaults are no words of the option: what ssh does, and where input goes.
    const bool is_word = row.name != "stdin" && row.name != "ssh-config" && value != "as ssh";
    if (!row.words.empty() && !value.empty() && is_word)
      CHECK(
          (" " + std::string(row.words) + " ").find(" " + (value == "no" ? "none" : value) + " ") !=
          std::string::npos);
  }
  CHECK(default_of(*find_option("pmi")) == "auto");
  CHECK(default_of(*find_option("ssh-host-keys")) == "as ssh");
  CHECK(default_of(*find_option("on-failure")) == "kill");
  CHECK(default_of(*find_option("fanout")) == "128");
  CHECK(default_of(*find_option("label")) == "no");
  CHECK(default_of(*find_option("hosts")) == "");
}

}  // namespace config_text_test
