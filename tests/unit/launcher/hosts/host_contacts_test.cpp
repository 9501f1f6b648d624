#include "launcher/hosts/host_contacts.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "common/core/text.h"
#include "launcher/hosts/ssh_files.h"
#include "tests/support/ssh_keys.h"
#include "tests/support/temporary_home.h"

namespace host_contacts_test {

using namespace scela;
using test::TemporaryHome;

namespace {

HostSearch search;  // waits for nothing

const std::string kKey = cat("ssh-ed25519 ", test::kKey7);

// Returns the lines for the user after each host has shown a new key, if `file` is to record it.
std::vector<std::string> lines_after_new_keys(const TemporaryHome& home, const std::string& file,
                                              const std::vector<std::string>& hosts) {
  home.write(
      "config",
      cat("StrictHostKeyChecking no\nGlobalKnownHostsFile none\nUserKnownHostsFile ", file, "\n"));
  Options options;
  options.ssh_config = home.path("config");
  Plan plan;
  plan.remote = true;
  plan.hosts = hosts;
  const auto found = find_contacts(options, plan, {}, search);
  REQUIRE(found);
  for (const std::string& host : hosts) {
    nla::Contact contact;
    contact.name = host;
    CHECK(found->spawn.met_host_key(contact, kKey));
  }
  return found->warnings_at_end();
}

}  // namespace

TEST_CASE("a new host key that is recorded needs no line") {
  const TemporaryHome home;
  CHECK(lines_after_new_keys(home, home.path("known"), {"10.0.0.1"}).empty());
  CHECK(read_ssh_file(home.path("known"))->value() == cat("10.0.0.1 ", kKey, "\n"));
}

TEST_CASE("new host keys that cannot be recorded are one warning, with the hosts and the cause") {
  const TemporaryHome home;
  std::filesystem::create_directory(home.path("folder"));
  for (const auto& [file, cause] :
       {std::pair{home.path("no/such/known"), "ENOENT"}, std::pair{home.path("folder"), "EISDIR"},
        std::pair{std::string("/proc/version"), "E"}}) {
    const auto lines = lines_after_new_keys(home, file, {"10.0.0.1", "me@10.0.0.2"});
    REQUIRE(lines.size() == 1);
    INFO(lines.front());
    for (const std::string& part : {std::string("warning: "), std::string("10.0.0.1"),
                                    std::string("me@10.0.0.2"), file, std::string(cause)})
      CHECK(lines.front().find(part) != std::string::npos);
  }
}

TEST_CASE("the time limit of the job covers the search for hosts that are not waited for") {
  const TemporaryHome home;
  home.write("config", "");
  Options options;
  options.ssh_config = home.path("config");
  Plan plan;
  plan.remote = true;
  plan.hosts = {"10.0.0.1"};
  HostSearch late{HostPatience(std::chrono::milliseconds(0), HostPatience::Clock::now(), {}), {}};
  CHECK_FALSE(find_contacts(options, plan, {}, late));
  REQUIRE(late.patience.given_up());
  CHECK_FALSE(late.patience.given_up()->cause.signal);
  CHECK(late.patience.given_up()->waiting == "waiting for 1 host");
}

TEST_CASE(
    "ssh as a program gets a host's port apart from its name, and another program gets none") {
  Options options;
  options.launch = LaunchMethod::program;
  options.launch_program = "ssh -x";
  options.launch_takes_port = true;
  Plan plan;
  plan.remote = true;
  plan.hosts = {"root@node001:2222", "[fd00::101]:22", "me@node002"};
  const auto found = find_contacts(options, plan, {}, search);
  REQUIRE(found);
  REQUIRE(found->contacts.size() == 3);
  const auto contact = [&](std::size_t i) {
    return nla::parse_contact(found->contacts[i]).value();
  };
  CHECK(contact(0).name == "root@node001:2222");
  CHECK(contact(0).address == "root@node001");
  CHECK(contact(0).port == 2222);
  CHECK(contact(1).address == "fd00::101");
  CHECK(contact(1).port == 22);
  CHECK(contact(2).address == contact(2).name);
  CHECK(found->find_later({"node003:2222"}).front().contact.find(" node003 2222 ") !=
        std::string::npos);

  options.launch_program = "rsh";
  options.launch_takes_port = false;
  const auto refused = find_contacts(options, plan, {}, search);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text().find("no port can be given to this program") != std::string::npos);
  plan.hosts = {"me@node002"};
  const auto named = find_contacts(options, plan, {}, search);
  REQUIRE(named);
  const HostLookup later = named->find_later({"node003:2222"}).front();
  CHECK(later.contact.empty());
  CHECK_FALSE(later.why.empty());
}

}  // namespace host_contacts_test
