#include "launcher/core/program/singleton_call.h"

#include <catch2/catch.hpp>

namespace singleton_call_test {

using namespace scela;

namespace {

using Words = std::vector<std::string>;

SingletonCall call(const Words& words) {
  const auto read = singleton_call(words);
  REQUIRE(read);
  REQUIRE(*read);
  return **read;
}

bool is_call(const Words& words) {
  const auto read = singleton_call(words);
  REQUIRE(read);
  return read->has_value();
}

}  // namespace

TEST_CASE("a call for a launcher has a port and a process, and options before it") {
  const SingletonCall made = call({"-v", "-pmi_args", "4711", "default_interface", "key", "12"});
  CHECK(made.options == Words{"-v"});
  CHECK(made.port == "4711");
  CHECK(made.process == 12);
  CHECK(singleton_words(made, "/bin/scela-run") ==
        Words{"-v", "-n", "1", "--", "/bin/scela-run", "-pmi_stand_for", "4711"});
  CHECK_FALSE(is_call({}));
  CHECK_FALSE(is_call({"-n", "1", "./p", "-pmi_args", "1", "i", "k", "2"}));
  CHECK_FALSE(is_call({"--", "-pmi_args", "1", "i", "k", "2"}));
  for (const Words& words :
       {Words{"-pmi_args"}, Words{"-pmi_args", "1", "i", "k"},
        Words{"-pmi_args", "1", "i", "k", "2", "3"}, Words{"-pmi_args", "0", "i", "k", "2"},
        Words{"-pmi_args", "65536", "i", "k", "2"}, Words{"-pmi_args", "1", "i", "k", "-2"}}) {
    const auto refused = singleton_call(words);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::usage);
  }
}

TEST_CASE("the job of a process that called is here, whatever is said of other jobs") {
  OptionSources sources;
  sources.words = singleton_words(call({"-pmi_args", "4711", "i", "k", "12"}), "/bin/scela-run");
  sources.environment = {{"SCELA_HOSTS", "a:2,b"}, {"SCELA_NP", "7"},     {"SCELA_EXCLUDE", "b"},
                         {"SCELA_STDIN", "all"},   {"SCELA_PMI", "pmgr"}, {"SCELA_SPARES", "1"},
                         {"SCELA_MIN_NODES", "2"}, {"SCELA_GRACE", "7"},  {"SCELA_RANKFILE", "f"},
                         {"SCELA_WDIR", "/w"},     {"SCELA_PATH", "/p"},  {"SCELA_PPN", "2"}};
  auto options = parse_options(sources);
  REQUIRE(options);
  narrow_to_singleton(*options);
  CHECK_FALSE((options->hosts || options->hostfile || options->exclude || options->min_nodes ||
               options->rankfile));
  CHECK(options->apps.front().np == 1u);
  CHECK_FALSE(
      (options->apps.front().wdir || options->apps.front().path || options->apps.front().ppn));
  CHECK(options->stdin_to->kind == StdinTarget::Kind::none);
  CHECK(options->pmi == PmiKind::fd);
  CHECK(options->spares == 0);
  CHECK(options->usize->kind == UniverseSize::Kind::infinite);
  CHECK(options->grace == std::chrono::seconds(7));
  sources.environment = {{"SCELA_USIZE", "5"}};
  options = parse_options(sources);
  REQUIRE(options);
  narrow_to_singleton(*options);
  CHECK(options->usize->number == 5);
}

}  // namespace singleton_call_test
