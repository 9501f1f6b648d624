#include "launcher/core/ssh/ssh_config.h"

#include <catch2/catch.hpp>
#include <map>

#include "common/core/text.h"

namespace ssh_config_test {

using namespace scela;

namespace {

using Files = std::map<std::string, std::string>;

SshConfig::IncludeReader reader(const Files& files) {
  return [&files](const std::string& pattern) -> Result<std::vector<SshConfig::File>> {
    const auto found = files.find(pattern);
    if (found == files.end()) return std::vector<SshConfig::File>{};
    return std::vector<SshConfig::File>{{found->first, found->second}};
  };
}

Result<SshConfig> parse(const std::string& text, const Files& files = {}) {
  return SshConfig::parse({"config", text}, reader(files));
}

// Returns what the texts say about a host.
SshSettings said(const std::vector<std::string>& texts, const SshQuery& query,
                 const Files& files = {}) {
  std::vector<SshConfig> configs;
  for (const std::string& text : texts) {
    auto config = parse(text, files);
    REQUIRE(config);
    configs.push_back(std::move(*config));
  }
  auto settings = ssh_settings(configs, query, {});
  REQUIRE(settings);
  return *settings;
}

SshQuery query(const std::string& host) {
  return {host, std::nullopt, "me", {}};
}

std::string user(const std::string& text, const std::string& host) {
  return said({text}, query(host)).user.value_or("nobody");
}

Error refused(const std::string& text, const Files& files = {}) {
  const auto config = parse(text, files);
  REQUIRE_FALSE(config);
  CHECK(config.error().kind == ErrorKind::usage);
  CHECK_FALSE(config.error().hint.empty());
  return config.error();
}

}  // namespace

TEST_CASE("the first value that applies counts, the user's file before the system's") {
  const std::string own = "Host node1\n User a\nHost node*\n User b\n Port 2222\n";
  CHECK(user(own, "node1") == "a");
  CHECK(user(own, "node2") == "b");
  CHECK(user(own, "other") == "nobody");
  const SshSettings both = said({own, "User c\nPort 1\nHostKeyAlias x\n"}, query("node1"));
  CHECK(both.user == "a");
  CHECK(both.port == 2222);
  CHECK(both.host_key_alias == "x");
}

TEST_CASE("keys and certificates add up, each once") {
  const SshSettings all = said(
      {"Host a\nIdentityFile ~/1\nCertificateFile c\nHost *\nIdentityFile ~/2\nIdentityFile ~/1\n"
       "IdentitiesOnly yes\nIdentityAgent none\n"},
      query("a"));
  CHECK(all.identity_files == std::vector<std::string>{"~/1", "~/2"});
  CHECK(all.certificate_files == std::vector<std::string>{"c"});
  CHECK(all.identities_only == true);
  CHECK(all.identity_agent == "none");
}

TEST_CASE("keywords have any case, an equals sign, quotes and comments") {
  const SshSettings all = said({"hOSTnAME=10.0.0.1\nUSER = \"a b\" # me\nport 22\t\r\n  # none\n"
                                "UserKnownHostsFile ~/a '/b c' \"d\\\"e\" f\\ g\n"
                                "GlobalKnownHostsFile none\nAddressFamily INET6\n"
                                "ForwardX11 what=ever \"\n"},
                               query("x"));
  CHECK(all.host_name == "10.0.0.1");
  CHECK(all.user == "a b");
  CHECK(all.port == 22);
  CHECK(all.user_known_hosts == std::vector<std::string>{"~/a", "/b c", "d\"e", "f g"});
  CHECK(all.global_known_hosts == std::vector<std::string>{"none"});
  CHECK(all.family == SshFamily::inet6);
}

TEST_CASE("a name that a pattern leaves out is left out") {
  const std::string text = "Host * !login\nUser a\n";
  CHECK(user(text, "node1") == "a");
  CHECK(user(text, "login") == "nobody");
}

TEST_CASE("HostName may hold the name that was asked for") {
  CHECK(said({"HostName %h.cluster%%\n"}, query("n1")).host_name == "n1.cluster%");
}

TEST_CASE("of ProxyJump and ProxyCommand the first counts, and a command keeps its quotes") {
  const SshSettings jump = said({"ProxyJump gate\nProxyCommand nc %h %p\n"}, query("a"));
  CHECK(jump.proxy_jump == "gate");
  CHECK_FALSE(jump.proxy_command);
  const SshSettings command =
      said({"ProxyCommand nc \"%h\" 'x # y'\nProxyJump gate\n"}, query("a"));
  CHECK(command.proxy_command == "nc \"%h\" 'x # y'");
  CHECK_FALSE(command.proxy_jump);
}

TEST_CASE("Match looks at names, users and commands") {
  CHECK(user("Match host node*,!node9\nUser a\n", "NODE1") == "a");
  CHECK(user("Match host node*,!node9\nUser a\n", "node9") == "nobody");
  CHECK(user("HostName n.cluster\nMatch host *.cluster originalhost n\nUser a\n", "n") == "a");
  CHECK(user("Match host=n !localuser me\nUser a\n", "n") == "nobody");
  CHECK(user("Match localuser me,you user me\nUser a\n", "n") == "a");
  CHECK(user("Match all\nUser a\n", "n") == "a");
  CHECK(user("Match canonical\nUser a\n", "n") == "nobody");
  CHECK(user("Match !canonical\nUser a\n", "n") == "a");
  // "Host" ends a Match, and "Match" ends a Host.
  CHECK(user("Match host x\nHost n\nUser a\n", "n") == "a");
}

TEST_CASE("a user given with the host wins over the configuration's") {
  SshQuery asked = query("n");
  asked.user = "root";
  CHECK(said({"User x\nMatch user root\nPort 7\n"}, asked).port == 7);
  CHECK_FALSE(said({"User x\nMatch user x\nPort 7\n"}, asked).port);
}

TEST_CASE("a command decides, with tokens, and runs only where the rest matches") {
  std::vector<std::string> ran;
  SshQuery asked = query("n1");
  asked.succeeds = [&](const std::string& command) {
    ran.push_back(command);
    return command == "test n1 = n1";
  };
  CHECK(said({"Match exec \"test %h = %n\"\nUser a\n"}, asked).user == "a");
  CHECK(said({"Match host other exec \"never\"\nUser a\n"}, asked).user == std::nullopt);
  CHECK(said({"Match !exec \"false\"\nUser b\n"}, asked).user == "b");
  CHECK(ran == std::vector<std::string>{"test n1 = n1", "false"});
}

TEST_CASE("the final reading sees the name that the first one led to") {
  const std::string text = "Host n1\nHostName n1.cluster\nHost *.cluster\nUser a\n";
  CHECK(user(text, "n1") == "nobody");
  CHECK(user(text + "Match final\nPort 7\n", "n1") == "a");
  CHECK(said({text + "Match final host *.cluster\nPort 7\n"}, query("n1")).port == 7);
}

TEST_CASE("an included file belongs to the block that includes it") {
  const Files files{{"inner", "User a\nHost n2\nUser b\n"}};
  const std::string text = "Host n*\nInclude inner\nPort 7\nHost *\nUser c\n";
  CHECK(said({text}, query("n1"), files).user == "a");
  CHECK(said({text}, query("x2"), files).user == "c");
  // A Host or Match at the end of the included file does not apply to the file that includes it.
  CHECK(said({text}, query("n1"), files).port == 7);
  CHECK(said({"Host x\nInclude inner\n"}, query("n2"), files).user == std::nullopt);
  CHECK(said({"Include nothing there\nUser d\n"}, query("n"), files).user == "d");
}

TEST_CASE("a malformed line is an error that names it, wherever it stands") {
  CHECK(refused("User a\n\nHost x\n Port abc\n").text().find("config:4") == 0);
  for (const char* bad :
       {"Port 0", "Port 65536", "Port 1 2", "User", "Host", "HostName \"a", "User 'a\"",
        "IdentitiesOnly maybe", "AddressFamily inet5", "ProxyCommand", "Match", "Match host",
        "Match what x", "Match exec", "Match host ''", "User \"\"", "Include \"a"}) {
    INFO(bad);
    CHECK(refused(std::string("# x\n") + bad).where == "config:2");
  }
  CHECK(refused("Include inner\n", {{"inner", "User a\nPort x\n"}}).where == "inner:2");
}

TEST_CASE("a file that includes itself is an error, not an endless reading") {
  const Files files{{"self", "Include self\nInclude self self\n"}};
  CHECK(refused("Include self\n", files).why.find("without end") != std::string::npos);
}

TEST_CASE("files that include one another twice each are an error before they are too many") {
  Files files;
  for (int depth = 0; depth < 15; ++depth) {
    const std::string next = cat("f", depth + 1);
    files[cat("f", depth)] = cat("Include ", next, "\nInclude ", next, "\n");
  }
  CHECK(refused("Include f0\n", files).why.find("without end") != std::string::npos);
}

TEST_CASE("a token that is not known is an error of its line when the line applies") {
  const auto config = parse("Host x\nHostName %C\n");
  REQUIRE(config);
  CHECK(ssh_settings(std::vector{*config}, query("y"), {}));
  const auto applied = ssh_settings(std::vector{*config}, query("x"), {});
  REQUIRE_FALSE(applied);
  CHECK(applied.error().where == "config:2");
}

TEST_CASE("StrictHostKeyChecking says whether a host's first key is taken, and a changed one") {
  using enum SshKeyChecking;
  for (const auto& [word, checking] : {std::pair{"yes", strict},
                                       {"ask", strict},
                                       {"NO", any},
                                       {"off", any},
                                       {"accept-new", accept_new}}) {
    INFO(word);
    CHECK(said({cat("StrictHostKeyChecking ", word, "\n")}, query("a")).key_checking == checking);
  }
  CHECK_FALSE(said({"User a\n"}, query("a")).key_checking);
  const std::string blocks =
      "Host box*\n StrictHostKeyChecking no\nMatch user root\n StrictHostKeyChecking yes\n";
  CHECK(said({blocks}, query("box1")).key_checking == any);
  CHECK_FALSE(said({blocks}, query("a")).key_checking);
  SshQuery root = query("a");
  root.user = "root";
  CHECK(said({blocks}, root).key_checking == strict);
  CHECK(refused("StrictHostKeyChecking maybe\n").where == "config:1");
}

}  // namespace ssh_config_test
