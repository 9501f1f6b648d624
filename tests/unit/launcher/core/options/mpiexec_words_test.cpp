#include "launcher/core/options/mpiexec_words.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"

namespace mpiexec_words_test {

using namespace scela;

namespace {

using Words = std::vector<std::string>;

ProgramWords only(const Words& words) {
  auto programs = split_programs(words);
  REQUIRE(programs);
  REQUIRE(programs->size() == 1);
  return programs->front();
}

}  // namespace

TEST_CASE("options end at the program's name") {
  const ProgramWords split = only({"-n", "2", "./p", "-n", "5", "--label"});
  CHECK(split.options == Words{"-n", "2"});
  CHECK(split.argv == Words{"./p", "-n", "5", "--label"});
}

TEST_CASE("an option's argument is not taken for the program") {
  CHECK(only({"--np", "2", "-l", "p"}).argv == Words{"p"});
  CHECK(only({"--np=2", "p", "2"}).argv == Words{"p", "2"});
  CHECK(only({"-n2", "p"}).argv == Words{"p"});
  CHECK(only({"-w", "-odd-", "p"}).argv == Words{"p"});
  CHECK(only({"--stats", "json", "p"}).argv == Words{"json", "p"});
}

TEST_CASE("two dashes end the options, for a program with a dash at its beginning") {
  const ProgramWords split = only({"-l", "--", "-odd", "--", "x"});
  CHECK(split.options == Words{"-l"});
  CHECK(split.argv == Words{"-odd", "--", "x"});
}

TEST_CASE("a lone dash is a program's name") {
  CHECK(only({"-"}).argv == Words{"-"});
}

TEST_CASE("a colon begins the next program with options of its own") {
  const auto programs = split_programs({"-n", "1", "a", "x:y", ":", "-n", "2", "b", ":", "c"});
  REQUIRE(programs);
  REQUIRE(programs->size() == 3);
  CHECK((*programs)[0].argv == Words{"a", "x:y"});
  CHECK((*programs)[1].options == Words{"-n", "2"});
  CHECK((*programs)[1].argv == Words{"b"});
  CHECK((*programs)[2].argv == Words{"c"});
  CHECK(split_programs({"a", ":"})->size() == 2);
  CHECK(split_programs({})->size() == 1);
}

TEST_CASE("mpiexec's spellings become long options") {
  CHECK(only({"-np", "4", "p"}).options == Words{"--np", "4"});
  CHECK(only({"-ppn", "4", "p"}).options == Words{"--ppn", "4"});
  CHECK(only({"-hosts", "a,b:2", "p"}).options == Words{"--hosts", "a,b:2"});
  CHECK(only({"-wdir", "/tmp", "p"}).options == Words{"--wdir", "/tmp"});
  CHECK(only({"-env", "K", "V", "p"}).options == Words{"--env=K=V"});
  CHECK(only({"-genv", "K", "a=b", "p"}).options == Words{"--genv=K=a=b"});
  CHECK(only({"-env", "K=V", "p"}).options == Words{"--env=K=V"});
  CHECK(only({"-env", "K", "", "p"}).options == Words{"--env=K="});
}

TEST_CASE("the option --launcher is another name of --launch") {
  CHECK(only({"--launcher", "sge", "p"}).options == Words{"--launch", "sge"});
  CHECK(only({"--launcher=sge", "p", "--launcher"}).options == Words{"--launch=sge"});
  CHECK(only({"-launcher", "ssh", "p"}).options == Words{"--launch", "ssh"});
  CHECK(only({"--launch", "ssh", "p"}).options == Words{"--launch", "ssh"});
  CHECK_FALSE(split_programs({"--launchers", "p"}));
}

TEST_CASE("mpirun's -wd is --wdir, and no host called d") {
  CHECK(only({"-wd", "/tmp", "p"}).options == Words{"--wdir", "/tmp"});
  CHECK(only({"-w", "d", "p"}).options == Words{"-w", "d"});
}

TEST_CASE("a word of another launcher that begins with n is no number of ranks") {
  for (const char* const word : {"-nameserver", "-nolocal", "-nooversubscribe", "-npersocket"}) {
    CAPTURE(word);
    const auto split = split_programs({word, "2", "p"});
    REQUIRE_FALSE(split);
    CHECK(split.error().text().find(std::string("unknown option ") + word) == 0);
  }
  CHECK(only({"-n4", "p"}).options == Words{"-n4"});
}

TEST_CASE("options of other launchers that have no like are told what instead") {
  const auto hint_of = [](const char* word) {
    return split_programs({word, "x", "p"}).error().text();
  };
  CHECK(hint_of("-iface").find("say --network INTERFACE") != std::string::npos);
  CHECK(hint_of("-nameserver").find("agents serve published names") != std::string::npos);
  CHECK(hint_of("-xterm").find("--pty") != std::string::npos);
}

TEST_CASE("mpiexec's -pmi-port is --pmi port") {
  const ProgramWords split = only({"-pmi-port", "p", "-pmi-port"});
  CHECK(split.options == Words{"--pmi=port"});
  CHECK(split.argv == Words{"p", "-pmi-port"});
}

TEST_CASE("mpiexec's spellings after the program's name belong to the program") {
  const ProgramWords split = only({"-np", "1", "p", "-np", "3", "-env", "A", "B"});
  CHECK(split.argv == Words{"p", "-np", "3", "-env", "A", "B"});
}

TEST_CASE("a spelling without its arguments is an error that names it") {
  const auto split = split_programs({"-env", "K"});
  REQUIRE_FALSE(split);
  CHECK(split.error().text() ==
        "option -env: a name and a value are missing "
        "(write -env NAME VALUE; see scela-run --help)");
}

TEST_CASE("mpiexec's -usize is --usize") {
  CHECK(only({"-usize", "SYSTEM", "p"}).options == Words{"--usize", "SYSTEM"});
}

TEST_CASE("a cluster of short flags is taken apart") {
  CHECK(only({"-lv", "p"}).options == Words{"-l", "-v"});
  CHECK(only({"-lvn", "3", "p"}).options == Words{"-l", "-v", "-n", "3"});
  CHECK(only({"-ln3", "p"}).options == Words{"-l", "-n3"});
}

TEST_CASE("a letter with a value that only the long form takes says how to write it") {
  CHECK(split_programs({"-v=launch", "p"}).error().text() ==
        "option -v: the letter takes no value (write --verbose=launch; see scela-run --help)");
  CHECK(split_programs({"-lv=tree", "p"}).error().hint ==
        "write --verbose=tree; see scela-run --help");
  CHECK(split_programs({"-b=yes", "p"}).error().what == "unknown option -b=yes");
}

TEST_CASE("an unknown option is named, with the option it may have meant") {
  CHECK(split_programs({"-hostfile", "f"}).error().text() ==
        "unknown option -hostfile (did you mean --hostfile? see scela-run --help)");
  CHECK(split_programs({"--lable", "p"}).error().text() ==
        "unknown option --lable (did you mean --label? see scela-run --help)");
  CHECK(split_programs({"--timout=3", "p"}).error().text() ==
        "unknown option --timout (did you mean --timeout? see scela-run --help)");
  CHECK(split_programs({"--quuxquux", "p"}).error().text() ==
        "unknown option --quuxquux (see scela-run --help)");
}

TEST_CASE("options of other launchers are answered with what they are called here") {
  const auto hint = [](std::vector<std::string> words) {
    words.emplace_back("p");
    const auto split = split_programs(words);
    return split ? std::string() : split.error().text();
  };
  const std::string see = "; see scela-run --help)";
  CHECK(hint({"--mca", "btl", "self"}) ==
        "unknown option --mca (say --env OMPI_MCA_NAME=VALUE" + see);
  CHECK(hint({"-mca", "btl", "self"}) ==
        "unknown option -mca (say --env OMPI_MCA_NAME=VALUE" + see);
  for (const char* const word : {"-H", "-host", "--host"})
    CHECK(hint({word, "a,b"}) == cat("unknown option ", word, " (say -w LIST", see));
  for (const char* const word : {"-N", "-N4", "-npernode", "--npernode"})
    CHECK(hint({word, "4"}) == cat("unknown option ", word, " (say --ppn N", see));
  CHECK(hint({"--rf", "f"}).find("(say --rankfile FILE;") != std::string::npos);
  CHECK(hint({"--display-map"}).find("(say --show-map;") != std::string::npos);
  CHECK(hint({"--allow-run-as-root"}).find("(it is not needed: leave it out;") !=
        std::string::npos);
  CHECK(hint({"-n4", "-n", "4"}).empty());
}

}  // namespace mpiexec_words_test
