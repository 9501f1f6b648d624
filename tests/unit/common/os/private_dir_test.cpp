#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/core/text.h"
#include "common/os/private_dir.h"

namespace private_dir_test {

using namespace scela;
namespace fs = std::filesystem;

namespace {
std::string fresh(const std::string& name) {
  return private_directory_path(temporary_base(), cat("scela-dir-test-", ::getpid(), "-", name));
}
}  // namespace

TEST_CASE("a private directory is its owner's alone") {
  const std::string path = fresh("mode");
  const mode_t before = ::umask(0);
  REQUIRE(make_private_directory(path));
  ::umask(before);
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0700);
  CHECK(facts.st_uid == ::geteuid());
  CHECK(remove_tree(path));
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("memory has a place for directories only if enough of it is free") {
  const std::string base = memory_base(0);
  CHECK((base.empty() || base == "/dev/shm"));
  CHECK(memory_base(std::uint64_t{1} << 62).empty());
}

TEST_CASE("a directory that exists already is refused, and so is a link") {
  const std::string path = fresh("taken");
  REQUIRE(make_private_directory(path));
  const Result<void> again = make_private_directory(path);
  REQUIRE_FALSE(again);
  CHECK(again.error().text().find(path) != std::string::npos);
  CHECK(again.error().text().find("EEXIST") != std::string::npos);
  REQUIRE(remove_tree(path));
  fs::create_directory_symlink("/tmp", path);
  CHECK_FALSE(make_private_directory(path));
  fs::remove(path);
}

TEST_CASE("a directory is held by its owner, for as long as that lives") {
  const std::string path = fresh("held");
  CHECK_FALSE(is_directory_locked(path));
  REQUIRE(make_private_directory(path));
  CHECK_FALSE(is_directory_locked(path));
  Fd hold = lock_directory(path);
  CHECK(hold);
  CHECK(is_directory_locked(path));
  CHECK(is_directory_locked(path));  // a look does not take the hold
  hold.reset();
  CHECK_FALSE(is_directory_locked(path));
  REQUIRE(remove_tree(path));
}

TEST_CASE("removal leaves alone what is mounted inside") {
  const std::string path = fresh("mount");
  const std::string outside = fresh("mounted");
  REQUIRE(make_private_directory(path));
  REQUIRE(make_private_directory(outside));
  std::ofstream(outside + "/kept") << "x";
  fs::create_directory(path + "/m");
  const std::string where = GENERATE("", "/m");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // The mount is in a mount namespace of its own, so that none is left whatever happens.
    const bool ready =
        ::unshare(CLONE_NEWNS) == 0 &&
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount(outside.c_str(), (path + where).c_str(), nullptr, MS_BIND, nullptr) == 0;
    ::_exit(!ready ? 2 : remove_tree(path) ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);  // it could not be removed
  CHECK(fs::exists(outside + "/kept"));
  REQUIRE(remove_tree(path));
  REQUIRE(remove_tree(outside));
}

TEST_CASE("removal takes everything inside and follows no link") {
  const std::string path = fresh("tree");
  const std::string outside = fresh("outside");
  REQUIRE(make_private_directory(path));
  REQUIRE(make_private_directory(outside));
  std::ofstream(outside + "/kept") << "x";
  fs::create_directories(path + "/a/b/c");
  std::ofstream(path + "/a/b/file") << "x";
  fs::create_directory_symlink(outside, path + "/a/link");
  fs::create_symlink("nowhere", path + "/dangling");
  fs::permissions(path + "/a/b", fs::perms::owner_read);
  CHECK(remove_tree(path));
  CHECK_FALSE(fs::exists(path));
  CHECK(fs::exists(outside + "/kept"));
  CHECK(remove_tree(outside));
}

TEST_CASE("removal takes folders that their owner has closed to himself") {
  const std::string path = fresh("closed");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Root may read everything, so the child gives up root.
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    fs::create_directories(path + "/a/b");
    std::ofstream(path + "/a/b/file") << "x";
    fs::permissions(path + "/a/b", fs::perms::none);
    fs::permissions(path + "/a", fs::perms::none);
    ::_exit(remove_tree(path) && !fs::exists(path) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(remove_tree(path));
}

TEST_CASE("old remains are removed, but not those that are held, fresh or named otherwise") {
  const std::string base = fresh("base");
  REQUIRE(make_private_directory(base));
  for (const char* name : {"job-1-me", "job-2-me", "job-3-me", "job-4-you"})
    fs::create_directories(cat(base, "/", name, "/inside"));
  std::ofstream(base + "/job-5-me") << "x";
  fs::create_directory_symlink(base + "/job-4-you", base + "/job-6-me");
  for (const char* name : {"job-1-me", "job-2-me", "job-4-you", "job-5-me"})
    fs::last_write_time(cat(base, "/", name),
                        fs::file_time_type::clock::now() - std::chrono::hours(2));
  Fd held = lock_directory(base + "/job-2-me");
  REQUIRE(held);
  const auto remove = [&] { remove_abandoned(base, "job-", "-me", std::chrono::hours(1)); };
  remove();
  CHECK_FALSE(fs::exists(base + "/job-1-me"));
  CHECK_FALSE(fs::exists(base + "/job-5-me"));
  for (const char* name : {"job-2-me/inside", "job-3-me/inside", "job-4-you/inside"})
    CHECK(fs::exists(cat(base, "/", name)));
  CHECK(fs::is_symlink(base + "/job-6-me"));
  held.reset();
  remove();
  CHECK_FALSE(fs::exists(base + "/job-2-me"));
  CHECK(remove_tree(base));
}

TEST_CASE("removing what is not there is no error, and a link in its place stays") {
  CHECK(remove_tree(fresh("never")));
  const std::string path = fresh("link");
  fs::create_directory_symlink("/usr", path);
  CHECK_FALSE(remove_tree(path));
  CHECK(fs::is_symlink(path));
  fs::remove(path);
}

TEST_CASE("a node's name cannot lead out of the directory") {
  CHECK(private_directory_path("/tmp", "scela-0-j-../../etc") == "/tmp/scela-0-j-.._.._etc");
  CHECK(private_directory_path("/tmp/", "x") == "/tmp/x");
}

TEST_CASE("the base is TMPDIR if that is a directory, else /tmp") {
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/var", 1);
  CHECK(temporary_base() == "/var");
  ::setenv("TMPDIR", "/nonexistent", 1);
  CHECK(temporary_base() == "/tmp");
  ::setenv("TMPDIR", "relative", 1);
  CHECK(temporary_base() == "/tmp");
  ::unsetenv("TMPDIR");
  CHECK(temporary_base() == "/tmp");
  if (before != nullptr) ::setenv("TMPDIR", saved.c_str(), 1);
}

}  // namespace private_dir_test
