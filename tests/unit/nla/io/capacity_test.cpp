#include "nla/io/capacity.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "common/core/text.h"
#include "common/os/private_dir.h"

namespace capacity_test {

using namespace scela;
using namespace scela::nla;

namespace {

// A tree of files that holds what a test wants /proc and /sys to say.
struct FakeSystem {
  FakeSystem() { std::filesystem::create_directories(root); }
  ~FakeSystem() { std::filesystem::remove_all(root); }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;
  void file(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = root + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  std::string root = cat(temporary_base(), "/scela-limits-test-", ::getpid());
};

std::string refusal(std::uint64_t ranks, const SystemLimits& limits, std::uint64_t with_input = 0) {
  const auto found = too_many(ranks, with_input, "node7", limits);
  return found ? found->text.text() : "";
}

}  // namespace

TEST_CASE("a refusal names the node, the number, the limit and what to do") {
  SystemLimits limits;
  CHECK(refusal(1 << 24, limits).empty());
  limits.user_processes = 1000;
  CHECK(refusal(1000, limits).empty());
  CHECK(refusal(1001, limits) ==
        "node7: start 1001 ranks: the limit of the user's processes is 1000 "
        "(raise it (ulimit -u), or put fewer ranks on a node)");
  CHECK(too_many(1001, 0, "node7", limits)->error == EAGAIN);
  CHECK(too_many(1001, 0, "node7", limits)->text.kind == ErrorKind::launch);
}

TEST_CASE("each limit refuses with its own advice, the tightest speaks") {
  SystemLimits limits;
  limits.threads_max = 60'000;
  CHECK(refusal(60'001, limits).find("threads-max") != std::string::npos);
  limits.pid_max = 32'768;
  CHECK(refusal(60'001, limits).find("pid_max") != std::string::npos);
  CHECK(refusal(32'400, limits).empty());
  CHECK_FALSE(refusal(32'600, limits).empty());  // the lowest numbers are not given
  limits.cgroup_processes = 500;
  CHECK(refusal(60'001, limits).find("pids.max") != std::string::npos);
  limits.descriptors = 316;
  CHECK(refusal(100, limits).empty());
  CHECK(refusal(101, limits).find("ulimit -n") != std::string::npos);
  CHECK(refusal(100, limits, 1).find("301 descriptors") != std::string::npos);
  CHECK(too_many(101, 0, "node7", limits)->error == EMFILE);
}

TEST_CASE("the system's limits are read, those of the control groups from the inside out") {
  const FakeSystem system;
  system.file("/proc/sys/kernel/pid_max", "4194304\n");
  system.file("/proc/sys/kernel/threads-max", "96365\n");
  CHECK(system_limits(system.root).pid_max == 4194304);
  CHECK(system_limits(system.root).threads_max == 96365);
  CHECK(system_limits(system.root).cgroup_processes == kNoLimit);
  SECTION("version 2") {
    system.file("/proc/self/cgroup", "0::/user/job\n");
    system.file("/sys/fs/cgroup/user/job/pids.max", "max\n");
    CHECK(system_limits(system.root).cgroup_processes == kNoLimit);
    system.file("/sys/fs/cgroup/user/pids.max", "200\n");
    system.file("/sys/fs/cgroup/user/pids.current", "30\n");
    CHECK(system_limits(system.root).cgroup_processes == 170);
    system.file("/sys/fs/cgroup/pids.max", "100\n");
    CHECK(system_limits(system.root).cgroup_processes == 100);
    system.file("/sys/fs/cgroup/pids.current", "130\n");
    CHECK(system_limits(system.root).cgroup_processes == 0);
  }
  SECTION("version 1") {
    system.file("/proc/self/cgroup", "9:name=systemd:/a\n8:pids:/a\n7:cpu:/b\n0::/\n");
    system.file("/sys/fs/cgroup/pids/a/pids.max", "70");
    CHECK(system_limits(system.root).cgroup_processes == 70);
  }
}

TEST_CASE("descriptors that are open do not count as free") {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const std::uint64_t free = system_limits().descriptors;
  CHECK(free < limit.rlim_cur);
  const int one = ::dup(0);
  CHECK(system_limits().descriptors == free - 1);
  ::close(one);
}

}  // namespace capacity_test
