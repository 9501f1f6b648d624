#include "launcher/core/options/host_wait.h"

#include <catch2/catch.hpp>

namespace host_wait_test {

using namespace scela;
using namespace std::chrono_literals;

namespace {

std::vector<HostEntry> hosts(std::size_t count, std::optional<std::uint32_t> slots) {
  std::vector<HostEntry> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back({"n" + std::to_string(i), slots});
  return out;
}

}  // namespace

TEST_CASE("host wait: only a launcher pod and agents that join are waited for by default") {
  const std::vector<std::string> pod = {"K_MPI_JOB_ROLE=launcher"},
                                 worker = {"K_MPI_JOB_ROLE=worker"}, none;
  Options options;
  CHECK(host_wait_limit(options, Environment(none)) == 0ms);
  CHECK(host_wait_limit(options, Environment(worker)) == 0ms);
  CHECK(host_wait_limit(options, Environment(pod)) == 2min);
  options.wait_hosts = 0ms;
  CHECK(host_wait_limit(options, Environment(pod)) == 0ms);
  options.wait_hosts = 5s;
  CHECK(host_wait_limit(options, Environment(none)) == 5s);
  options.wait_hosts.reset();
  options.listen = "7000";
  CHECK(host_wait_limit(options, Environment(none)) == 2min);
}

TEST_CASE("host wait: the pauses grow, and none reaches beyond the limit") {
  HostWait wait(10s);
  CHECK(wait.next_pause(0s) == 100ms);
  CHECK(wait.next_pause(1s) == 200ms);
  for (int i = 0; i < 10; ++i)
    wait.next_pause(2s);
  CHECK(wait.next_pause(3s) == 1000ms);
  CHECK(wait.next_pause(9900ms) == 100ms);
  CHECK_FALSE(wait.next_pause(10s));
  CHECK_FALSE(HostWait(0s).next_pause(0s));
}

TEST_CASE("host wait: a line is due at once, and then at growing intervals") {
  HostWait wait(10min);
  CHECK_FALSE(wait.has_reported());
  std::vector<int> told;
  for (int second = 0; second < 100; ++second)
    if (wait.takes_report(std::chrono::seconds(second))) told.push_back(second);
  CHECK(told == std::vector{0, 5, 10, 20, 40, 80});
  CHECK(wait.has_reported());
}

TEST_CASE("host wait: the line names the hosts by the reason why they are awaited") {
  const std::vector<AwaitedHost> awaited = {{"w1", "name not known"}, {"w3", "connection refused"}};
  CHECK(waiting_line(waiting_text(awaited, 4), 110s) ==
        "waiting for 2 of 4 hosts: w1 (name not known), w3 (connection refused); up to 110 s more "
        "(--wait-hosts)");
  CHECK(waiting_text({{"w1", "x"}, {"w2", "x"}}, 2) == "waiting for 2 of 2 hosts: w[1-2] (x)");
  CHECK(waiting_line("waiting", 1500ms) == "waiting; up to 2 s more (--wait-hosts)");
  CHECK(waited_line({}, 4, 900ms) == "all 4 hosts are there after 1 s");
  CHECK(waited_line(awaited, 4, 2min) ==
        "waited 120 s (--wait-hosts) and go on without 2 of 4 hosts: w1 (name not known), w3 "
        "(connection refused)");
  CHECK(waited_line(awaited, 4, 2010ms).starts_with("waited 2 s (--wait-hosts)"));
}

TEST_CASE("host wait: a wait that has no effect is told") {
  Options options;
  options.wait_hosts = 1min;
  CHECK(unused_wait_line(options).empty());
  options.launch = LaunchMethod::program;
  CHECK(unused_wait_line(options).starts_with("--wait-hosts has no effect: "));
  options.hostfile_is_program = true;
  CHECK(unused_wait_line(options).empty());
  options.hostfile_is_program = false;
  options.listen = "7000";
  CHECK(unused_wait_line(options).empty());
  options.listen.reset();
  options.wait_hosts.reset();
  CHECK(unused_wait_line(options).empty());
}

TEST_CASE("host wait: what time does not cure behind a proxy is not waited for") {
  CHECK(may_come_up(255, ""));
  CHECK(may_come_up(255, "channel 0: open failed: connect failed: Connection refused\n"));
  CHECK(may_come_up(255, "ssh: Could not resolve hostname w1: Name or service not known\n"));
  CHECK(may_come_up(1, "error: unable to upgrade connection: pod does not exist\n"));
  CHECK_FALSE(may_come_up(127, "sh: 1: exec: nc: not found\n"));
  CHECK_FALSE(may_come_up(126, ""));
  CHECK_FALSE(may_come_up(255, "me@jump: Permission denied (publickey).\n"));
  CHECK_FALSE(may_come_up(255, "No ED25519 host key is known\nHost key verification failed.\n"));
}

TEST_CASE("host wait: hosts are enough for --min-nodes, for spares and for the ranks") {
  Options options;
  CHECK(lack_of_hosts({}, options) == "0 hosts of 1");
  CHECK(lack_of_hosts(hosts(1, std::nullopt), options).empty());
  options.min_nodes = 2;
  CHECK(lack_of_hosts(hosts(1, std::nullopt), options) == "1 host of 2");
  options.spares = 1;
  CHECK(lack_of_hosts(hosts(2, std::nullopt), options) == "2 hosts of 3");
  CHECK(lack_of_hosts(hosts(3, std::nullopt), options).empty());
  options = {};
  options.apps.resize(2);
  options.apps[0].np = 4;
  CHECK(lack_of_hosts(hosts(2, 2), options) == "2 hosts with 4 slots for 5 ranks");
  CHECK(lack_of_hosts(hosts(3, 2), options).empty());
  CHECK(lack_of_hosts(hosts(1, std::nullopt), options).empty());
  options.oversubscribe = true;
  CHECK(lack_of_hosts(hosts(1, 1), options).empty());
  options = {};
  options.apps.resize(1);
  options.apps[0].np = 4;
  options.spares = 1;
  CHECK(lack_of_hosts(hosts(2, 2), options) == "1 host beside the spares with 2 slots for 4 ranks");
  CHECK(lack_of_hosts(hosts(3, 2), options).empty());
  options.spares = 0;
  options.apps[0].ppn = 1;
  CHECK(lack_of_hosts(hosts(3, 16), options) == "3 hosts for 4 ranks at 1 rank a node (--ppn)");
  CHECK(lack_of_hosts(hosts(3, std::nullopt), options) ==
        "3 hosts for 4 ranks at 1 rank a node (--ppn)");
  CHECK(lack_of_hosts(hosts(4, 16), options).empty());
}

}  // namespace host_wait_test
