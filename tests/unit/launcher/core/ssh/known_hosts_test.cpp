#include "launcher/core/ssh/known_hosts.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "launcher/core/ssh/base64.h"
#include "tests/support/ssh_keys.h"

namespace known_hosts_test {

using namespace scela;
using test::base64;
using test::key_blob;

namespace {

int hashes = 0;  // the number of hashes computed

// This is not a real hash, but its results differ for different names.
Sha1Digest fake_hmac(std::string_view key, std::string_view text) {
  ++hashes;
  Sha1Digest out{};
  std::uint32_t state = 2166136261u;
  for (const std::string_view part : {key, text}) {
    for (const char c : part)
      state = (state ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  for (auto& byte : out) {
    state = state * 16777619u + 1;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return out;
}

std::string hidden(std::string_view name) {
  const std::string salt(20, 's');
  const Sha1Digest digest = fake_hmac(salt, name);
  return cat("|1|", base64(salt), "|",
             base64({reinterpret_cast<const char*>(digest.data()), digest.size()}));
}

std::string key(std::string_view body) {
  return "ssh-ed25519 " + key_blob("ssh-ed25519", body);
}

// Returns the bodies of keys, so that tests can name them.
std::string bodies(const std::vector<KnownKey>& keys) {
  std::string out;
  for (const KnownKey& one : keys) {
    const std::string bytes = decode_base64(one.blob).value_or("");
    out += cat(out.empty() ? "" : " ", bytes.substr(4 + one.type.size()));
  }
  return out;
}

struct Answer {
  std::string accepted;
  std::string revoked;
  bool has_authority = false;
};
Answer ask(const std::string& text, std::string_view name, std::uint16_t port = 22,
           std::string_view address = "") {
  KnownHosts hosts;
  hosts.add(text, "f");
  const KnownKeys keys = hosts.find(name, address, port, fake_hmac);
  return {bodies(keys.accepted), bodies(keys.revoked), keys.has_authority};
}

}  // namespace

TEST_CASE("base64 decodes what ssh writes and nothing else") {
  CHECK(decode_base64("AAAA") == std::string(3, '\0'));
  CHECK(decode_base64("aGk=") == "hi");
  CHECK(decode_base64("aA==") == "h");
  for (const char* bad : {"", "aGk", "aGk=aGk=", "aG k", "a===", "====", "aGl=", "aB=="}) {
    INFO(bad);
    CHECK_FALSE(decode_base64(bad));
  }
  for (const std::string& text : {std::string("a"), std::string("ab\xff"), std::string(50, '\xfe')})
    CHECK(decode_base64(base64(text)) == text);
}

TEST_CASE("a host has the keys of all lines that name it, each once, in the files' order") {
  const std::string text = "node1,10.0.0.1 " + key("a") + "\nnode2 " + key("b") + "\nNODE1 " +
                           key("c") + " comment\nnode1 " + key("a") + "\n";
  CHECK(ask(text, "node1").accepted == "a c");
  CHECK(ask(text, "Node1").accepted == "a c");
  CHECK(ask(text, "10.0.0.1").accepted == "a");
  CHECK(ask(text, "node2").accepted == "b");
  CHECK(ask(text, "node").accepted.empty());
  CHECK(ask(text, "node1,10.0.0.1").accepted.empty());
}

TEST_CASE("patterns match, and a negated one takes the whole line away") {
  const std::string text = "*.cluster,!login.cluster " + key("a") + "\nnode? " + key("b") + "\n";
  CHECK(ask(text, "n1.cluster").accepted == "a");
  CHECK(ask(text, "login.cluster").accepted.empty());
  CHECK(ask(text, "node7").accepted == "b");
  CHECK(ask(text, "node77").accepted.empty());
}

TEST_CASE("another port has its own entries, and the name's where there are none") {
  const std::string text = "node1 " + key("a") + "\n[node1]:2222 " + key("b") + "\n";
  CHECK(ask(text, "node1").accepted == "a");
  CHECK(ask(text, "NODE1", 2222).accepted == "b");
  CHECK(ask(text, "node1", 2223).accepted == "a");
}

TEST_CASE("hidden names are found, and are not looked at when a plain line names the host") {
  const std::string text = hidden("node1") + " " + key("a") + "\n" + hidden("[node2]:2222") + " " +
                           key("b") + "\nnode3 " + key("c") + "\n";
  CHECK(ask(text, "node1").accepted == "a");
  CHECK(ask(text, "Node2", 2222).accepted == "b");
  CHECK(ask(text, "node2").accepted.empty());
  KnownHosts hosts;
  hosts.add(text, "f");
  hashes = 0;
  CHECK(bodies(hosts.find("node3", "10.0.0.3", 22, fake_hmac).accepted) == "c");
  CHECK(hashes == 0);
  hosts.find("node4", "", 22, fake_hmac);
  CHECK(hashes == 2);
}

TEST_CASE("revoked keys are never accepted, whichever line names them") {
  const std::string text = "node1 " + key("a") + "\nnode1 " + key("b") + "\n@revoked * " +
                           key("a") + "\n@revoked 10.0.0.2 " + key("c") + "\n@revoked " +
                           hidden("node3") + " " + key("d") + "\nnode3 " + key("d") + "\n";
  const Answer first = ask(text, "node1");
  CHECK(first.accepted == "b");
  CHECK(first.revoked == "a");
  // An entry for the address revokes a key, but does not accept one.
  CHECK(ask(text, "node2", 22, "10.0.0.2").revoked == "a c");
  CHECK(ask("10.0.0.2 " + key("x"), "node2", 22, "10.0.0.2").accepted.empty());
  CHECK(ask(text, "node3").accepted.empty());
  CHECK(ask(text, "node3").revoked == "a d");
}

TEST_CASE("an authority for certificates is noted and accepted as no key") {
  const Answer answer = ask("@cert-authority *.cluster " + key("ca"), "n1.cluster");
  CHECK(answer.accepted.empty());
  CHECK(answer.has_authority);
  CHECK_FALSE(ask("@cert-authority *.cluster " + key("ca"), "n1").has_authority);
}

TEST_CASE("lines that cannot be read are skipped and counted, the first is named") {
  KnownHosts hosts;
  hosts.add("# comment\n\n   \nnode1 " + key("a") + "\r\n", "first");
  CHECK(hosts.broken() == 0);
  CHECK(hosts.lines() == 1);
  hosts.add("node1 " + key("b") + "\nnode1\nnode1 ssh-ed25519\nnode1 ssh-ed25519 AAA\n" +
                "node1 ssh-rsa " + key_blob("ssh-ed25519", "x") + "\n@other node1 " + key("x") +
                "\n|2|aaaa|bbbb " + key("x") + "\n|1|aGk=|aGk= " + key("x") +
                "\nnode1 1024 37 12345\nnode1 ssh,rsa " + key_blob("ssh,rsa", "x"),
            "second");
  CHECK(hosts.broken() == 9);
  CHECK(hosts.first_broken() == "second:2");
  CHECK(bodies(hosts.find("node1", "", 22, fake_hmac).accepted) == "a b");
}

}  // namespace known_hosts_test
