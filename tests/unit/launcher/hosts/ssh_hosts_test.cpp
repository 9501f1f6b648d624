#include "launcher/hosts/ssh_hosts.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "launcher/hosts/ssh_files.h"
#include "tests/support/ssh_keys.h"
#include "tests/support/temporary_home.h"

namespace ssh_hosts_test {

using namespace scela;
using test::TemporaryHome;

namespace {

const std::string kEd25519 = cat("ssh-ed25519 ", test::kKey7);
const std::string kEcdsa = cat("ecdsa-sha2-nistp256 ", test::kKey8);

// A user and a machine of the test's own.
struct Site {
  TemporaryHome home;
  SshHostsOptions options;
  SshUser user{"me",
               7,
               home.path(),
               "/bin/sh",
               "front.cluster",
               {"10.9.0.1", "fd00::9"},
               {{"SSH_AUTH_SOCK", "/agent"}},
               home.path("etc")};

  SshHosts find(const std::vector<std::string>& names) {
    auto found = find_ssh_hosts(names, options, user);
    REQUIRE(found);
    REQUIRE(found->hosts.size() == names.size());
    return std::move(*found);
  }
  SshHost find_one(const std::string& name) { return find({name}).hosts.front(); }
  // Returns the contact of a host that must be known.
  SshHost known(const std::string& name) {
    SshHost host = find_one(name);
    INFO((host.failure ? host.failure->error.text() : ""));
    CHECK_FALSE(host.failure);
    return host;
  }
  std::string failure(const std::string& name, HostPhase phase) {
    const SshHost host = find_one(name);
    REQUIRE(host.failure);
    CHECK(host.failure->phase == phase);
    CHECK(host.failure->error.where == name);
    CHECK_FALSE(host.failure->error.hint.empty());
    return host.failure->error.text();
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a host is found by the configuration, the name service and known_hosts together") {
  Site site;
  site.home.write(".ssh/config",
                  "Host n1\n HostName 10.0.0.1\n User them\n Port 2222\n IdentityFile ~/k/%r\n");
  site.home.write(".ssh/known_hosts", "[10.0.0.1]:2222 " + kEd25519 + "\n");
  const SshHost host = site.known("n1");
  CHECK(nla::format(host.contact) == cat("n1 10.0.0.1 2222 them ssh-ed25519:", test::kDigest7));
  CHECK(nla::parse_contact(nla::format(host.contact)) == host.contact);
  CHECK(host.identities == std::vector{site.home.path("k/them")});
  CHECK(host.identity_agent == "/agent");
}

TEST_CASE("without a configuration the user, port 22 and the usual keys that are there count") {
  Site site;
  site.home.write(".ssh/id_rsa", "");
  site.home.write(".ssh/id_ed25519", "");
  site.home.write("etc/ssh_known_hosts", "10.0.0.1 " + kEd25519 + "\n10.0.0.1 " + kEcdsa + "\n");
  const SshHost host = site.known("10.0.0.1");
  CHECK(host.contact.user == "me");
  CHECK(host.contact.port == 22);
  CHECK(host.contact.keys.size() == 2);
  CHECK_FALSE(host.contact.any_key);
  CHECK_FALSE(host.contact.root_only);
  CHECK(host.identities ==
        std::vector{site.home.path(".ssh/id_ed25519"), site.home.path(".ssh/id_rsa")});
}

TEST_CASE(
    "the user of all hosts wins over the configuration, and not over one given with the host") {
  Site site;
  site.home.write(".ssh/config", "User x\n");
  site.home.write(".ssh/known_hosts", "10.0.0.1 " + kEd25519 + "\n");
  site.options.user = "admin";
  CHECK(site.known("10.0.0.1").contact.user == "admin");
  CHECK(site.known("root@10.0.0.1").contact.user == "root");
}

TEST_CASE("a user given with the host is the session's") {
  Site site;
  site.home.write(".ssh/config", "User x\n");
  site.home.write(".ssh/known_hosts", "10.0.0.1 " + kEd25519 + "\n");
  const SshHost host = site.known("root@10.0.0.1");
  CHECK(host.contact.name == "root@10.0.0.1");
  CHECK(host.contact.user == "root");
}

TEST_CASE("names of this machine are here, unless another session is meant") {
  Site site;
  site.home.write(".ssh/config",
                  "Host tunnel\n HostName 127.0.0.1\n Port 2222\nHost moved front\n "
                  "HostName 10.0.0.1\nHost me2\n HostName 10.9.0.1\n");
  site.home.write(".ssh/known_hosts", "[127.0.0.1]:2222,10.0.0.1,localhost " + kEd25519 + "\n");
  for (const char* name : {"localhost", "127.0.0.1", "127.0.3.4", "::1", "front.cluster",
                           "FRONT.cluster", "10.9.0.1", "fd00::9", "me2", "me@localhost"}) {
    INFO(name);
    const SshHost host = site.known(name);
    CHECK(host.contact.here());
    CHECK(host.contact.root_only);
  }
  CHECK(site.known("front").contact.address == "10.0.0.1");
  CHECK_FALSE(site.known("root@localhost").contact.here());
  // A server at a loopback address can be reached from this machine alone.
  const SshHost tunnel = site.known("tunnel");
  CHECK(tunnel.contact.address == "127.0.0.1");
  CHECK(tunnel.contact.root_only);
  CHECK_FALSE(site.known("10.0.0.1").contact.root_only);
}

TEST_CASE("a name that does not resolve fails alone, in its phase") {
  Site site;
  site.home.write(".ssh/config", "Host alias\nHostName does-not-exist.invalid\n");
  site.home.write(".ssh/known_hosts", "10.0.0.1 " + kEd25519 + "\n");
  const SshHosts found = site.find({"10.0.0.1", "does-not-exist.invalid"});
  CHECK_FALSE(found.hosts[0].failure);
  CHECK(found.hosts[1].failure);
  const std::string text = site.failure("does-not-exist.invalid", HostPhase::resolve);
  CHECK(has(text, "resolve the name 'does-not-exist.invalid'"));
  CHECK(has(site.failure("alias", HostPhase::resolve), "HostName in the ssh configuration"));
}

TEST_CASE("an unknown host is refused, or taken as it comes where that is asked for") {
  Site site;
  const std::string text = site.failure("10.0.0.1", HostPhase::host_key);
  CHECK(has(text, "no key of 10.0.0.1 is known"));
  CHECK(has(text, "'ssh 10.0.0.1'"));
  CHECK(has(text, "ssh-keyscan 10.0.0.1"));
  CHECK(has(text, "--ssh-host-keys accept-new"));
  site.options.host_keys = HostKeyPolicy::accept_new;
  const SshHost host = site.known("10.0.0.1");
  CHECK(host.contact.any_key);
  CHECK(host.known_hosts_file == site.home.path(".ssh/known_hosts"));
  CHECK(host.known_hosts_name == "10.0.0.1");
  REQUIRE(append_known_host(host.known_hosts_file, host.known_hosts_name, host.known_hosts_port,
                            {"ssh-ed25519", std::string(test::kKey7)}));
  site.options.host_keys = HostKeyPolicy::strict;
  CHECK(site.known("10.0.0.1").contact.keys.size() == 1);
}

TEST_CASE("a host of which something is known must show that, whatever is asked for") {
  Site site;
  site.options.host_keys = HostKeyPolicy::accept_new;
  site.home.write(".ssh/known_hosts", "10.0.0.1 " + kEd25519 + "\n");
  CHECK_FALSE(site.known("10.0.0.1").contact.any_key);
}

TEST_CASE("revoked keys are no keys, and scela-run alone can refuse them by name") {
  Site site;
  site.home.write(".ssh/known_hosts", "10.0.0.1 " + kEd25519 + "\n@revoked * " + kEd25519 + "\n");
  CHECK(has(site.failure("10.0.0.1", HostPhase::host_key), "revoked"));
  site.options.host_keys = HostKeyPolicy::accept_new;
  const SshHost host = site.known("10.0.0.1");
  CHECK(host.contact.any_key);
  CHECK(host.contact.root_only);
  REQUIRE(host.revoked.size() == 1);
  CHECK(host.revoked[0].digest == test::kDigest7);
}

TEST_CASE("an alias names the host's key without its port") {
  Site site;
  site.home.write(".ssh/config",
                  "Host n*\n HostName 10.0.0.1\n Port 2222\n HostKeyAlias all-nodes\n");
  site.home.write(".ssh/known_hosts", "all-nodes " + kEd25519 + "\n");
  const SshHost host = site.known("n1");
  CHECK(host.contact.keys.size() == 1);
  CHECK(host.known_hosts_name == "all-nodes");
  CHECK(host.known_hosts_port == 22);
}

TEST_CASE("hosts behind a proxy stay with scela-run and need not resolve here") {
  Site site;
  site.home.write(".ssh/config",
                  "Host jump\n HostName inner.invalid\n ProxyJump me@gate:2222\n"
                  "Host command\n HostName inner.invalid\n User u\n ProxyCommand nc %h %p %r\n"
                  "Host direct\n HostName 10.0.0.1\n ProxyCommand none\n"
                  "Host gate\n ProxyJump gate\n"
                  "Host bad\n ProxyJump -oX=y\n");
  site.home.write(".ssh/known_hosts", "inner.invalid,10.0.0.1 " + kEd25519 + "\n");
  const SshHost jump = site.known("jump");
  CHECK(jump.contact.root_only);
  CHECK(jump.contact.address == "inner.invalid");
  CHECK(jump.proxy_command == "ssh -l 'me' -p 2222 -W '[inner.invalid]:22' 'gate'");
  CHECK(jump.proxy_is_jump);
  CHECK(site.known("command").proxy_command == "nc inner.invalid 22 u");
  CHECK(site.known("direct").proxy_command.empty());
  CHECK(has(site.failure("gate", HostPhase::configuration), "through itself"));
  CHECK(has(site.failure("bad", HostPhase::configuration), "no host to jump through"));
  site.options.config_file = site.home.path(".ssh/config");
  CHECK(has(site.known("jump").proxy_command, cat("-F '", *site.options.config_file, "'")));
}

TEST_CASE("known_hosts files are those that the configuration names") {
  Site site;
  site.home.write(".ssh/known_hosts", "10.0.0.1 " + kEd25519 + "\n");
  site.home.write(".ssh/config",
                  "Host 10.0.0.1\n UserKnownHostsFile ~/other ${SSH_AUTH_SOCK}\n"
                  "Host 10.0.0.2\n UserKnownHostsFile /dev/null\n");
  CHECK(has(site.failure("10.0.0.1", HostPhase::host_key), "no key"));
  site.home.write("other", "10.0.0.1 " + kEcdsa + "\n");
  CHECK(site.known("10.0.0.1").contact.keys[0].type == "ecdsa-sha2-nistp256");
  site.options.host_keys = HostKeyPolicy::accept_new;
  CHECK(site.known("10.0.0.2").known_hosts_file.empty());
}

TEST_CASE("malformed keys are counted, and named where a host has no other") {
  Site site;
  site.home.write(".ssh/known_hosts", "10.0.0.1 ssh-ed25519 AAAA\n10.0.0.2 " + kEd25519 + "\n");
  CHECK(has(site.failure("10.0.0.1", HostPhase::host_key), ".ssh/known_hosts:1"));
  const SshHosts found = site.find({"10.0.0.2"});
  CHECK_FALSE(found.hosts[0].failure);
  REQUIRE(found.notes.size() == 1);
  CHECK(has(found.notes[0], "1 lines of known_hosts files"));
}

TEST_CASE("names and users that cannot be are errors of the configuration") {
  Site site;
  site.home.write(".ssh/config",
                  "Host a\n HostName -oProxyCommand=x\nHost b\n User \"a b\"\n"
                  "Host c\n IdentityFile %C\nHost d\n IdentityAgent ${NONE}\n");
  for (const char* name : {"a", "b", "c", "d", "-x", "@a"}) {
    INFO(name);
    site.failure(name, HostPhase::configuration);
  }
}

TEST_CASE("commands of the configuration are run, without the user's streams") {
  Site site;
  site.home.write(".ssh/known_hosts", "10.0.0.1,10.0.0.2 " + kEd25519 + "\n");
  site.home.write(".ssh/config",
                  "Match exec \"test %h = 10.0.0.1 && test $(wc -c) = 0\"\n User them\n");
  CHECK(site.known("10.0.0.1").contact.user == "them");
  CHECK(site.known("10.0.0.2").contact.user == "me");
}

TEST_CASE("a configuration that cannot be read stops everything") {
  Site site;
  site.home.write(".ssh/config", "Port x\n");
  const auto found = find_ssh_hosts({"10.0.0.1"}, site.options, site.user);
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::usage);
}

TEST_CASE("the user and machine that run this are known") {
  const SshUser user = this_ssh_user();
  CHECK(user.id == ::geteuid());
  CHECK(user.home.starts_with('/'));
  CHECK_FALSE(user.host_name.empty());
  CHECK(user.shell.starts_with('/'));
}

TEST_CASE("the configuration says where the first key of a host is taken and recorded") {
  Site site;
  site.home.write(
      ".ssh/config",
      "Host 10.0.0.1\n StrictHostKeyChecking accept-new\n UserKnownHostsFile ~/k1 ~/k2\n"
      "Host 10.0.0.2\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n"
      "Host 10.0.0.4\n UserKnownHostsFile /dev/null\n");
  const SshHost first = site.known("10.0.0.1");
  CHECK(first.contact.any_key);
  CHECK(first.known_hosts_file == site.home.path("k1"));
  const SshHost second = site.known("10.0.0.2");
  CHECK(second.contact.any_key);
  CHECK(second.known_hosts_file.empty());
  CHECK(has(site.failure("10.0.0.3", HostPhase::host_key), "connect once with 'ssh 10.0.0.3'"));
  CHECK(has(site.failure("10.0.0.3:2222", HostPhase::host_key),
            "connect once with 'ssh -p 2222 10.0.0.3'"));
  CHECK(has(site.failure("me@[fd00::3]:22", HostPhase::host_key),
            "connect once with 'ssh -p 22 me@fd00::3'"));
  CHECK(has(site.failure("10.0.0.4", HostPhase::host_key), "StrictHostKeyChecking accept-new"));
  site.options.host_keys = HostKeyPolicy::strict;
  site.failure("10.0.0.1", HostPhase::host_key);
}

TEST_CASE("a known key stays the only one, unless StrictHostKeyChecking is no") {
  Site site;
  site.home.write(".ssh/config",
                  "Host 10.0.0.1\n StrictHostKeyChecking accept-new\nHost 10.0.0.2\n "
                  "StrictHostKeyChecking no\nHost 10.0.0.3\n StrictHostKeyChecking off\n");
  site.home.write(
      ".ssh/known_hosts",
      cat("10.0.0.* ", kEd25519, "\n@revoked 10.0.0.3 ecdsa-sha2-nistp256 ", test::kKey8, "\n"));
  const SshHost first = site.known("10.0.0.1");
  CHECK_FALSE(first.contact.any_key);
  CHECK(first.contact.keys.size() == 1);
  const SshHost second = site.known("10.0.0.2");
  CHECK(second.contact.any_key);
  CHECK(second.contact.keys.size() == 1);
  CHECK_FALSE(second.contact.root_only);  // agents can start it too
  CHECK(site.known("10.0.0.3").contact.root_only);
  site.options.host_keys = HostKeyPolicy::accept_new;
  CHECK_FALSE(site.known("10.0.0.2").contact.any_key);
}

TEST_CASE("a port given with the host is the session's, and asks for a session even here") {
  Site site;
  site.home.write(".ssh/config", "Port 22\n");
  site.home.write(".ssh/known_hosts",
                  "[10.0.0.1]:2222,[front.cluster]:2222,[127.0.0.1]:2222 " + kEd25519 + "\n");
  const SshHost host = site.known("root@10.0.0.1:2222");
  CHECK(host.contact.name == "root@10.0.0.1:2222");
  CHECK(host.contact.user == "root");
  CHECK(host.contact.port == 2222);
  CHECK(host.contact.address == "10.0.0.1");
  CHECK_FALSE(site.known("127.0.0.1:2222").contact.here());
}

}  // namespace ssh_hosts_test
