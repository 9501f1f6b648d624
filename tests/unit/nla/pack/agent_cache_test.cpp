// Tests how an agent stores itself, with the test program in the agent's place.
#include "nla/pack/agent_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <set>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "nla/pack/agent_package.h"
#include "tests/support/temporary_home.h"

namespace agent_cache_test {

using namespace scela;
using namespace scela::nla;

namespace {

const std::string kDigest(64, 'a');

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    out.insert(entry.path().filename().string());
  return out;
}

// Returns a descriptor of a file with this text.
Fd package_of(std::string_view text) {
  Fd file(::memfd_create("package", MFD_CLOEXEC));
  REQUIRE(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return file;
}

}  // namespace

TEST_CASE("an agent stores itself and its package, readable by its user only") {
  const test::TemporaryHome home;
  const Fd package = package_of("the package");
  store_agent(home.path(kDigest), package.get());
  CHECK(names_in(home.path(".")) == std::set{kDigest});
  CHECK(names_in(home.path(kDigest)) == std::set<std::string>{"scela-nla", kPackageName});
  const std::string program = home.path(kDigest + "/scela-nla");
  CHECK(std::filesystem::file_size(program) == std::filesystem::file_size("/proc/self/exe"));
  struct stat facts {};
  REQUIRE(::stat(program.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0500);
  CHECK(read_small_file(home.path(kDigest + "/" + kPackageName).c_str()) == "the package");
}

TEST_CASE("an agent that is kept already stays as it is") {
  const test::TemporaryHome home;
  std::filesystem::create_directory(home.path(kDigest));
  home.write(kDigest + "/scela-nla", "first");
  store_agent(home.path(kDigest), package_of("second").get());
  CHECK(names_in(home.path(".")) == std::set{kDigest});
  CHECK(read_small_file(home.path(kDigest + "/scela-nla").c_str()) == "first");
}

TEST_CASE("nothing is left of an agent that does not fit") {
  const test::TemporaryHome home;
  const Fd package = package_of("the package");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    store_agent(home.path(kDigest), package.get());
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(names_in(home.path(".")).empty());
  store_agent(home.path("missing/" + kDigest), package.get());
  CHECK(names_in(home.path(".")).empty());
}

TEST_CASE("the agents that were used least recently are removed, and nothing else is") {
  const test::TemporaryHome home;
  const auto put = [&](const std::string& name, int time) {
    std::filesystem::create_directory(home.path(name));
    home.write(name + "/scela-nla", "");
    const timespec times[2] = {{time, 0}, {time, 0}};
    REQUIRE(::utimensat(AT_FDCWD, home.path(name).c_str(), times, 0) == 0);
  };
  const auto digest = [](char digit) { return std::string(64, digit); };
  for (const char digit : {'1', '2', '3', '4'})
    put(digest(digit), digit);
  put("something else", 1);
  put(".new-1-abcdef", 1);
  note_agent_use(home.path(digest('1')));
  store_agent(home.path(kDigest), package_of("the package").get());
  CHECK(names_in(home.path(".")) ==
        std::set{digest('1'), digest('4'), kDigest, std::string("something else")});
}

}  // namespace agent_cache_test
