#include "launcher/plan/pmi_choice.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/elf_program.h"
#include "tests/support/temporary_home.h"

namespace pmi_choice_test {

using namespace scela;

namespace {

// A machine with programs, none of which can run: they are only read.
class Machine {
 public:
  Machine() {
    around_.host_name = "here";
    around_.directory = home_.path();
    around_.environment = {cat("PATH=", home_.path("bin"))};
  }

  const std::string& path() const { return home_.path(); }

  void write(const std::string& name, const std::string& text) {
    home_.write(name, text);
    std::filesystem::permissions(home_.path(name), std::filesystem::perms::owner_all);
  }
  void program(const std::string& name, std::vector<std::string> libraries,
               std::vector<std::string> imports = {}) {
    libraries.emplace_back("libc.so.6");
    test::ProgramSample sample;
    sample.libraries = std::move(libraries);
    sample.imports = std::move(imports);
    write(name, test::program(sample));
  }

  // Lets the loader look in the home directory first.
  void see_libraries() { around_.environment.push_back(cat("LD_LIBRARY_PATH=", home_.path())); }

  std::vector<std::string> warnings(std::vector<std::string> words) const {
    return warn_of_pmi(options(std::move(words)), around_);
  }
  // Returns the choice with its reason, or the error.
  std::string choice(std::vector<std::string> words) const {
    Options given = options(std::move(words));
    const auto chosen = choose_pmi(given, around_);
    if (!chosen) return chosen.error().text();
    return cat(given.pmi == PmiKind::pmix ? "pmix" : "fd", chosen->guessed ? "?" : "", ": ",
               chosen->why);
  }

 private:
  static Options options(std::vector<std::string> words) {
    OptionSources sources;
    sources.words = std::move(words);
    auto parsed = parse_options(sources);
    REQUIRE(parsed);
    return *parsed;
  }

  test::TemporaryHome home_;
  LaunchContext around_;
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a stated way to meet that gives a program nothing is warned of") {
  Machine machine;
  machine.program("open", {"libmpi.so.40"});
  machine.program("mpich", {"libmpich.so.12"});
  machine.program("both", {"libmpich.so.12", "libpmix.so.2"});
  machine.program("none", {});
  const std::string alone = " gives it none: each rank will be a world of its own";
  const std::string of_open = "'./open' needs libmpi.so.40 (PMIx), and --pmi ";
  CHECK(machine.warnings({"--pmi", "fd", "./open"}) == Lines{of_open + "fd" + alone});
  CHECK(machine.warnings({"--pmi", "port", "./open"}) == Lines{of_open + "port" + alone});
  CHECK(machine.warnings({"--pmi", "pmix", "./mpich"}) ==
        Lines{"'./mpich' needs libmpich.so.12 (PMI), and --pmi pmix" + alone});
  CHECK(machine.warnings({"--pmi", "fd", "./open", ":", "-n", "2", "./open"}).size() == 1);
  for (const char* const pmi : {"none", "pmgr", "auto", "pmix"})
    CHECK(machine.warnings({"--pmi", pmi, "./open"}).empty());
  for (const char* const program : {"./both", "./none", "./missing"}) {
    CHECK(machine.warnings({"--pmi", "fd", program}).empty());
    CHECK(machine.warnings({"--pmi", "pmix", program}).empty());
  }
}

TEST_CASE("programs that cannot be one job are refused as such") {
  Machine machine;
  machine.program("open", {"libmpi.so.40"});
  machine.program("mpich", {"libmpich.so.12"});
  const std::string refused = machine.choice({"./mpich", ":", "./open"});
  CHECK(refused.find("'./mpich' needs libmpich.so.12, './open' needs libmpi.so.40") !=
        std::string::npos);
  CHECK(refused.find("run two") != std::string::npos);
  CHECK(refused.find("--pmi:") == std::string::npos);
}

TEST_CASE("a program that runs another is taken for that") {
  Machine machine;
  machine.program("open", {"libmpi.so.40"});
  machine.program("mpich", {"libmpich.so.12"});
  machine.program("bin/env", {}, {"execvp"});
  machine.write("script", "#!/bin/sh\n");
  CHECK(machine.choice({"env", "A=/b", "/missing", "./script", "./open", "./mpich"}) ==
        "pmix: 'env' runs './open', which needs libmpi.so.40");
  CHECK(machine.choice({"./mpich", "./open"}) == "fd: './mpich' needs libmpich.so.12");
  machine.program("bin/solver", {"libmpi.so.40"});
  CHECK(machine.choice({"env", "A=1", "solver"}) ==
        "pmix: 'env' runs 'solver', which needs libmpi.so.40");
  CHECK(machine.choice({"env", "open"}) ==
        "pmix?: 'env' shows no MPI, and may be, or start, any MPI's program");
  CHECK(machine.choice({"./script", "./open"}) ==
        "pmix?: './script' shows no MPI, and may be, or start, any MPI's program");
  CHECK(machine.choice({"-w", "a,b", "env", "./open"}) ==
        "fd?: 'env' shows no MPI, and runs once on each host");
  CHECK(machine.warnings({"--pmi", "fd", "env", "./open"}).front().find("'env' runs './open'") ==
        0);
}

TEST_CASE("a program that can neither load libraries nor start programs is served PMI alone") {
  Machine machine;
  machine.program("bin/hostname", {});
  machine.program("bin/plugged", {}, {"dlopen"});
  machine.program("libplugs.so.1", {}, {"dlopen"});
  machine.program("linked", {"libplugs.so.1"});
  test::ProgramSample fixed;
  machine.write("fixed", test::program(fixed));  // linked to nothing
  const std::string any = " shows no MPI, and may be, or start, any MPI's program";
  CHECK(machine.choice({"hostname"}) ==
        "fd?: 'hostname' shows no MPI, and loads no libraries and starts no programs");
  CHECK(machine.choice({"plugged"}) == "pmix?: 'plugged'" + any);
  CHECK(machine.choice({"./fixed"}) == "pmix?: './fixed'" + any);
  CHECK(machine.choice({"hostname", ":", "./fixed"}) == "pmix?: 'hostname'" + any);
  machine.see_libraries();
  CHECK(machine.choice({"./linked"}) == "pmix?: './linked'" + any);
}

TEST_CASE("a static program is served PMI alone if its symbols show that it starts no programs") {
  Machine machine;
  machine.write("fixed", test::static_program({"main", "__libc_start_main", "dlopen"}));
  machine.write("starts", test::static_program({"main", "__libc_start_main", "__execve"}));
  machine.write("stripped", test::static_program({"main"}, 0));
  CHECK(machine.choice({"./fixed"}).find("fd?: './fixed' shows no MPI, and loads no") == 0);
  CHECK(machine.choice({"./starts"}).find("pmix?: ") == 0);
  CHECK(machine.choice({"./stripped"}).find("pmix?: ") == 0);
}

TEST_CASE("a static program is served the PMI that it names, and both if it names both") {
  Machine machine;
  test::ProgramSample fixed;
  const std::string image = test::program(fixed);
  machine.write("client", image + "PMI_RANK PMI_FD");
  machine.write("open", image + "PMIX_NAMESPACE");
  machine.write("both", image + "PMIX_NAMESPACE PMI_FD");
  // The name lies across the pieces in which the file is read.
  machine.write("large", image + std::string((1 << 20) - image.size() - 3, 'x') + "PMI_FD");
  CHECK(machine.choice({"./client"}) == "fd: './client' is static and names PMI_FD");
  CHECK(machine.choice({"./large"}) == "fd: './large' is static and names PMI_FD");
  CHECK(machine.choice({"./open"}) == "pmix: './open' is static and names PMIX_NAMESPACE");
  CHECK(machine.choice({"./both"}).find("pmix?: ") == 0);
  CHECK(machine.warnings({"--pmi", "pmix", "./client"}).front().find("is static and names") !=
        std::string::npos);
}

TEST_CASE("a program of libscela is served both, but beside one that needs PMIx that") {
  Machine machine;
  machine.program("ours", {"libscela.so.0"}, {"dlopen"});
  machine.program("open", {"libmpi.so.40"});
  CHECK(machine.choice({"./ours"}).find("pmix?: ") == 0);
  CHECK(machine.choice({"./ours", ":", "./open"}) == "pmix: './open' needs libmpi.so.40");
  CHECK(machine.warnings({"--pmi", "pmix", "./ours"}).empty());
}

}  // namespace pmi_choice_test
