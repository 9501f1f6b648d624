// Tests which packages stay in the cache.
#include "nla/pack/agent_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "common/core/text.h"
#include "tests/support/temporary_home.h"

namespace agent_cache_test {

using namespace scela;
using namespace scela::nla;

namespace {

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    out.insert(entry.path().filename().string());
  return out;
}

std::string kept(char digit) {
  return cat("scela-nla-", std::string(64, digit));
}

}  // namespace

TEST_CASE("the packages that were used least recently are removed, and nothing else is") {
  const test::TemporaryHome home;
  const auto put = [&](const std::string& name, int time) {
    home.write(name, "");
    const timespec times[2] = {{time, 0}, {time, 0}};
    REQUIRE(::utimensat(AT_FDCWD, home.path(name).c_str(), times, 0) == 0);
  };
  std::set<std::string> expected;
  for (char digit = '0'; digit < '0' + kCachedPackages + 2; ++digit) {
    put(kept(digit), digit);
    expected.insert(kept(digit));
  }
  put("scela-nla-something else", 1);
  put(std::string(64, '7'), 1);
  put(".scela-nla-0123456789abcdef", 1);
  home.write(".scela-nla-fedcba9876543210", "under way");
  note_package_use(home.path(kept('0')));
  home.write(kept('a'), "");
  remove_old_packages(home.path(kept('a')));
  expected.insert(
      {kept('a'), "scela-nla-something else", std::string(64, '7'), ".scela-nla-fedcba9876543210"});
  for (const char digit : {'1', '2', '3'})
    expected.erase(kept(digit));
  CHECK(names_in(home.path(".")) == expected);
  remove_old_packages(home.path("missing/" + kept('a')));
  CHECK(names_in(home.path(".")) == expected);
}

}  // namespace agent_cache_test
