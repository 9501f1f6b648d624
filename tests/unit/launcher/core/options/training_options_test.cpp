// The options of training jobs.
#include <catch2/catch.hpp>

#include "launcher/core/options/options.h"

namespace training_options_test {

using namespace scela;

namespace {

Result<Options> parsed(std::vector<std::string> words) {
  OptionSources sources;
  sources.words = std::move(words);
  sources.words.emplace_back("./p");
  return parse_options(sources);
}

std::string refusal(std::vector<std::string> words) {
  const auto options = parsed(std::move(words));
  return options ? "" : options.error().text();
}

}  // namespace

TEST_CASE("styles are a list, and the last one given counts") {
  CHECK(parsed({"--env-style", "torch,slurm"})->env_styles == EnvStyles{true, false, false, true});
  CHECK(parsed({"--env-style=ompi,mpich"})->env_styles == EnvStyles{false, true, true, false});
  CHECK(parsed({"--env-style=ompi", "--env-style=none"})->env_styles == EnvStyles());
  CHECK_FALSE(parsed({})->env_styles.any());
}

TEST_CASE("a style that is none of them, or none beside others, is refused") {
  CHECK(refusal({"--env-style", "pytorch"}).find("'pytorch' is not known") != std::string::npos);
  CHECK(refusal({"--env-style", "torch,none"}).find("'none' stands beside others") !=
        std::string::npos);
  CHECK(refusal({"--env-style", ","}).find("names no launcher") != std::string::npos);
}

TEST_CASE("GPUs and restarts are numbers within their limits") {
  CHECK(parsed({"--gpus-per-rank", "2"})->gpus_per_rank == 2);
  CHECK(parsed({"--gpus-per-rank", "0"})->gpus_per_rank == 0);
  CHECK_FALSE(refusal({"--gpus-per-rank", "1025"}).empty());
  CHECK(parsed({"--restart", "3"})->restarts == 3);
  CHECK_FALSE(refusal({"--restart", "100001"}).empty());
  CHECK(parsed({"--expand"})->expand);
}

TEST_CASE("a job that may start again reads no standard input, which could not be read again") {
  CHECK(parsed({"--restart", "1"})->stdin_to == StdinTarget{StdinTarget::Kind::none, 0});
  CHECK_FALSE(parsed({"--restart", "0"})->stdin_to.has_value());
  CHECK(parsed({"--restart", "1", "--stdin", "none"}));
  CHECK(refusal({"--restart", "1", "--stdin", "all"}).find("options --restart and --stdin") == 0);
  CHECK(refusal({"--restart", "1", "--pty"}).find("options --restart and --pty") == 0);
  CHECK(refusal({"--restart", "1", "--on-failure", "wait"})
            .find("options --restart and --on-failure wait") == 0);
  CHECK(parsed({"--restart", "1", "--on-failure", "kill"}));
}

}  // namespace training_options_test
