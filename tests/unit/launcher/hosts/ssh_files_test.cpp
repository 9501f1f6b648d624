#include "launcher/hosts/ssh_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>

#include "common/core/text.h"
#include "launcher/hosts/key_hash.h"
#include "tests/support/ssh_keys.h"
#include "tests/support/temporary_home.h"

namespace ssh_files_test {

using namespace scela;
using test::TemporaryHome;

namespace {

std::string user_of(const std::vector<SshConfig>& configs, const std::string& host) {
  const auto settings = ssh_settings(configs, {host, std::nullopt, "me", {}}, {});
  return settings ? settings->user.value_or("nobody") : settings.error().text();
}

int mode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<int>(status.st_mode & 0777) : -1;
}

}  // namespace

TEST_CASE("hidden names and digests are those that ssh-keygen makes") {
  KnownHosts hosts;
  hosts.add(cat(test::kHidden7, " ssh-ed25519 ", test::kKey7, "\n", test::kHidden8,
                " ecdsa-sha2-nistp256 ", test::kKey8, "\n"),
            "f");
  CHECK(hosts.broken() == 0);
  const KnownKeys seven = hosts.find("node7", "", 22, hmac_sha1);
  REQUIRE(seven.accepted.size() == 1);
  CHECK(seven.accepted[0].blob == test::kKey7);
  CHECK(key_digest(seven.accepted[0].blob) == test::kDigest7);
  const KnownKeys eight = hosts.find("node8", "", 2222, hmac_sha1);
  REQUIRE(eight.accepted.size() == 1);
  CHECK(eight.accepted[0].type == "ecdsa-sha2-nistp256");
  CHECK(hosts.find("node8", "", 22, hmac_sha1).accepted.empty());
  // RFC 2202 section 3, case 6: a key that is longer than a block.
  const Sha1Digest digest =
      hmac_sha1(std::string(80, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First");
  CHECK(digest[0] == 0xaa);
  CHECK(digest[19] == 0x12);
}

TEST_CASE("the user's configuration comes before the system's, includes beside each") {
  TemporaryHome home;
  home.write(".ssh/config", "Include extra/*.conf\nHost a\nUser own\n");
  home.write(".ssh/extra/1.conf", "Host b\nUser included\n");
  home.write("etc/ssh_config", "Include more\nHost *\nUser system\n");
  home.write("etc/more", "Host c\nUser more\n");
  const auto configs = read_ssh_config(std::nullopt, home.path(), home.path("etc"));
  REQUIRE(configs);
  CHECK(user_of(*configs, "a") == "own");
  CHECK(user_of(*configs, "b") == "included");
  CHECK(user_of(*configs, "c") == "more");
  CHECK(user_of(*configs, "d") == "system");
}

TEST_CASE("a configuration that is named stands alone, none is none") {
  TemporaryHome home;
  home.write(".ssh/config", "User own\n");
  home.write("other", "Host a\nUser other\n");
  const auto named = read_ssh_config(home.path("other"), home.path(), home.path("etc"));
  REQUIRE(named);
  CHECK(user_of(*named, "a") == "other");
  CHECK(user_of(*named, "b") == "nobody");
  const auto none = read_ssh_config("none", home.path(), home.path("etc"));
  REQUIRE(none);
  CHECK(none->empty());
  const auto missing = read_ssh_config(home.path("missing"), home.path(), home.path("etc"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::usage);
  CHECK(missing.error().text().find(home.path("missing")) != std::string::npos);
}

TEST_CASE("a configuration that others can write to is refused") {
  TemporaryHome home;
  home.write(".ssh/config", "User own\n");
  REQUIRE(::chmod(home.path(".ssh/config").c_str(), 0666) == 0);
  const auto configs = read_ssh_config(std::nullopt, home.path(), home.path("etc"));
  REQUIRE_FALSE(configs);
  CHECK(configs.error().text().find("chmod go-w") != std::string::npos);
}

TEST_CASE("a malformed configuration is an error that names file and line") {
  TemporaryHome home;
  home.write(".ssh/config", "User own\nPort many\n");
  const auto configs = read_ssh_config(std::nullopt, home.path(), home.path("etc"));
  REQUIRE_FALSE(configs);
  CHECK(configs.error().where == home.path(".ssh/config") + ":2");
}

TEST_CASE("files that never end, and folders, are refused") {
  const auto endless = read_ssh_file("/dev/zero");
  REQUIRE_FALSE(endless);
  CHECK(endless.error().text().find("larger") != std::string::npos);
  CHECK_FALSE(read_ssh_file("/"));
  const auto missing = read_ssh_file("/does/not/exist");
  REQUIRE(missing);
  CHECK_FALSE(*missing);
}

TEST_CASE("a key that was accepted is appended, in a file and folder of its owner's alone") {
  TemporaryHome home;
  const std::string path = home.path(".ssh/known_hosts");
  const KnownKey key{"ssh-ed25519", std::string(test::kKey7)};
  const mode_t before = ::umask(0);
  CHECK(append_known_host(path, "Node1", 22, key));
  ::umask(before);
  CHECK(mode_of(home.path(".ssh")) == 0700);
  CHECK(mode_of(path) == 0600);
  CHECK(append_known_host(path, "node1", 2222, key));
  const std::string line = cat(" ssh-ed25519 ", test::kKey7, "\n");
  CHECK(read_ssh_file(path)->value() == "node1" + line + "[node1]:2222" + line);
}

TEST_CASE("a last line without its end is not continued") {
  TemporaryHome home;
  home.write("known_hosts", "# kept");
  const KnownKey key{"ssh-ed25519", std::string(test::kKey7)};
  CHECK(append_known_host(home.path("known_hosts"), "n", 22, key));
  CHECK(read_ssh_file(home.path("known_hosts"))->value() ==
        cat("# kept\nn ssh-ed25519 ", test::kKey7, "\n"));
}

TEST_CASE("names and keys that would be other lines are not written") {
  TemporaryHome home;
  const KnownKey key{"ssh-ed25519", std::string(test::kKey7)};
  for (const char* bad : {"", "a b", "a\nb", "*", "a,b", "!a", "|1|a|b", "@revoked"}) {
    INFO(bad);
    CHECK_FALSE(append_known_host(home.path("k"), bad, 22, key));
  }
  CHECK_FALSE(append_known_host(home.path("k"), "a", 22, {"ssh-rsa", key.blob}));
  CHECK_FALSE(append_known_host(home.path("k"), "a", 22, {"ssh-ed25519", "AAAA\nb x y"}));
  const auto nowhere = append_known_host(home.path("a/b/c/k"), "a", 22, key);
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().kind == ErrorKind::io);
  CHECK(nowhere.error().text().find("ENOENT") != std::string::npos);
}

TEST_CASE("writers at the same time do not mix their lines") {
  TemporaryHome home;
  constexpr int kWriters = 8;
  constexpr int kLines = 50;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&home, writer] {
      const KnownKey key{"ssh-ed25519", std::string(test::kKey7)};
      for (int line = 0; line < kLines; ++line) {
        append_known_host(home.path(".ssh/known_hosts"), cat("n", writer, "-", line), 22, key);
      }
    });
  }
  for (std::thread& writer : writers)
    writer.join();
  KnownHosts hosts;
  hosts.add(read_ssh_file(home.path(".ssh/known_hosts"))->value(), "f");
  CHECK(hosts.broken() == 0);
  CHECK(hosts.lines() == kWriters * kLines);
}

}  // namespace ssh_files_test
