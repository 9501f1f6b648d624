#include "launcher/core/hosts/hostfile.h"

#include <catch2/catch.hpp>

namespace hostfile_test {

using namespace scela;

namespace {

using Hosts = std::vector<HostEntry>;
constexpr auto kNone = std::nullopt;

std::string refusal(const Result<Hosts>& result) {
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::usage);
  return result.error().text();
}

}  // namespace

TEST_CASE("a host list has names, slots and node sets, in the order written") {
  CHECK(parse_hosts("b,a:2,node[9-10]:8") ==
        Hosts{{"b", kNone}, {"a", 2}, {"node9", 8}, {"node10", 8}});
  CHECK(parse_hosts("n[3,1]") == Hosts{{"n3", kNone}, {"n1", kNone}});
  CHECK(parse_hosts("10.0.0.1:4") == Hosts{{"10.0.0.1", 4}});
}

TEST_CASE("a host list without slots takes the operators of node sets") {
  CHECK(parse_hosts("n[1-4]!n2") == Hosts{{"n1", kNone}, {"n3", kNone}, {"n4", kNone}});
  CHECK(parse_hosts("n[1-3]!n2:4") == Hosts{{"n1", 4}, {"n3", 4}});
}

TEST_CASE("a host named twice is one host, and its stated slots add up") {
  CHECK(parse_hosts("a,b,a") == Hosts{{"a", kNone}, {"b", kNone}});
  CHECK(parse_hosts("a:2,b:1,a:3") == Hosts{{"a", 5}, {"b", 1}});
  CHECK(parse_hosts("a,a:3") == Hosts{{"a", 3}});
  CHECK(parse_hostfile("a\nb\na\n", "f") == Hosts{{"a", kNone}, {"b", kNone}});
  CHECK(parse_hostfile("a:2\na slots=2\n", "f") == Hosts{{"a", 4}});
  CHECK(refusal(parse_hosts("a:1048576,a:1")).find("would have 1048577 slots") !=
        std::string::npos);
}

TEST_CASE("unknown host syntax is refused with its text and the right form") {
  CHECK(refusal(parse_hosts("a,b:x")) ==
        "--hosts: read host list 'a,b:x': the slots after ':' are wrong: 'x' is not a number "
        "(give a number from 1 to 1048576)");
  CHECK(refusal(parse_hosts("a:0")).find("'0' is out of range") != std::string::npos);
  CHECK(refusal(parse_hosts("a:")).find("'' is not a number") != std::string::npos);
  CHECK(refusal(parse_hosts(":4")).find("no host stands before ':'") != std::string::npos);
  CHECK(refusal(parse_hosts("n[1-")).find("--hosts: read host list 'n[1-': ") == 0);
  CHECK(refusal(parse_hosts("n[1-:2")).find("--hosts: ") == 0);
  CHECK(refusal(parse_hosts("")).find("it names no host") != std::string::npos);
  CHECK(refusal(parse_hosts(" , ", "SCELA_HOSTS")).find("SCELA_HOSTS: ") == 0);
  CHECK(refusal(parse_hosts("a:1:2")).find("IPv6") != std::string::npos);
  CHECK(refusal(parse_hosts("[::1]:x")).find("'x' is not a number") != std::string::npos);
}

TEST_CASE("an IPv6 address is a host, with slots behind brackets") {
  CHECK(parse_hosts("fe80::1,::1,a:2") == Hosts{{"fe80::1", kNone}, {"::1", kNone}, {"a", 2}});
  CHECK(parse_hosts("fe80::1%eth0") == Hosts{{"fe80::1%eth0", kNone}});
  CHECK(parse_hosts("[2001:db8::7]:2") == Hosts{{"2001:db8::7", 2}});
  CHECK(parse_hosts("[2001:db8::7]:2,[2001:db8::7]:1") == Hosts{{"2001:db8::7", 3}});
  CHECK(parse_hostfile("::1\n", "f") == Hosts{{"::1", kNone}});
}

TEST_CASE("an impossible host name is refused before it is looked up") {
  for (const char* name :
       {"-oProxyCommand=x", "-v", "a/b", "$(x)", "a;b", "a'b", ".hidden", "caf\xc3\xa9"}) {
    CAPTURE(name);
    CHECK(refusal(parse_hosts(name)).find("cannot be the name of a host") != std::string::npos);
  }
  CHECK_FALSE(refusal(parse_hosts("a\x01z")).empty());
  CHECK_FALSE(refusal(parse_hosts(std::string(300, 'a'))).empty());
  CHECK(parse_hosts("n_1.example-x.org") == Hosts{{"n_1.example-x.org", kNone}});
  CHECK(parse_hostfile("\xef\xbb\xbf"
                       "a\n",
                       "f") == Hosts{{"a", kNone}});
}

TEST_CASE("a host file has one host or node set a line, comments and blank lines") {
  CHECK(parse_hostfile("# cluster\n"
                       "\n"
                       "login\r\n"
                       "node[1-2]:4   # new ones\n"
                       "big slots=16\n"
                       "wide slots = 8 max_slots=8\n"
                       "gpu[1,2] max-slots=2 slots=2",
                       "hosts.txt") == Hosts{{"login", kNone},
                                             {"node1", 4},
                                             {"node2", 4},
                                             {"big", 16},
                                             {"wide", 8},
                                             {"gpu1", 2},
                                             {"gpu2", 2}});
  CHECK(parse_hostfile("a max_slots=4", "f") == Hosts{{"a", kNone}});
}

TEST_CASE("errors in a host file name file, line and text") {
  CHECK(refusal(parse_hostfile("a\nb slts=2\n", "hosts.txt")) ==
        "hosts.txt:2: read host line 'b slts=2': 'slts' is not a known key "
        "(the keys are slots, max_slots and port)");
  CHECK(refusal(parse_hostfile("a slots=none", "f")).find("slots: 'none' is not a number") !=
        std::string::npos);
  CHECK(refusal(parse_hostfile("a slots=", "f")).find("slots: '' is not a number") !=
        std::string::npos);
  CHECK(refusal(parse_hostfile("slots=4", "f")).find("no host stands before") != std::string::npos);
  CHECK(refusal(parse_hostfile("=4", "f")).find("no host stands before") != std::string::npos);
  CHECK(refusal(parse_hostfile("a slots 4", "f")).find("'slots 4' follows the host") !=
        std::string::npos);
  CHECK(refusal(parse_hostfile("a slots=4 b", "f")).find("'b' is not a known key") !=
        std::string::npos);
  CHECK(refusal(parse_hostfile("a:2 slots=4", "f")).find("cannot go together") !=
        std::string::npos);
  CHECK(refusal(parse_hostfile("a slots=4 max_slots=2", "f")).find("more than max_slots") !=
        std::string::npos);
  CHECK(refusal(parse_hostfile("ok\nn[2-1]x[", "f")).find("f:2: ") == 0);
  CHECK(refusal(parse_hostfile("# nothing\n", "f")) ==
        "read host file 'f': it names no host (write one host a line)");
}

TEST_CASE("excluded hosts leave the list, unknown ones are ignored") {
  const Hosts hosts{{"n1", 1}, {"n2", 2}, {"n3", kNone}};
  CHECK(exclude_hosts(hosts, "n[2,7]") == Hosts{{"n1", 1}, {"n3", kNone}});
  CHECK(refusal(exclude_hosts(hosts, "n[1-3]")).find("no host is left") != std::string::npos);
  CHECK(refusal(exclude_hosts(hosts, "n[1-")).find("--exclude: ") == 0);
}

TEST_CASE("operators of a line act on the hosts of that line only") {
  CHECK(parse_hosts("node1\nnode[1-3]!node1") ==
        Hosts{{"node1", kNone}, {"node2", kNone}, {"node3", kNone}});
  CHECK(parse_hosts("a\nb&b") == Hosts{{"a", kNone}, {"b", kNone}});
  CHECK(parse_hosts("c:2222\na,b!a") == Hosts{{"c:2222", kNone}, {"b", kNone}});
  CHECK(parse_hosts("a:2\na:3\n") == Hosts{{"a", 5}});
}

TEST_CASE("an error shows the beginning of a long text only") {
  const std::string text = std::string(5000, 'a') + ":x";
  CHECK(refusal(parse_hosts(text)).size() < 300);
}

TEST_CASE("a host may have a user and a port, which are parts of its name") {
  CHECK(parse_hosts("root@a,me@n[1-2]:2") == Hosts{{"root@a", kNone}, {"me@n1", 2}, {"me@n2", 2}});
  CHECK(parse_hosts("a:2222,n[1-2]:65535") ==
        Hosts{{"a:2222", kNone}, {"n1:65535", kNone}, {"n2:65535", kNone}});
  CHECK(parse_hosts("a:1023,b:65536") == Hosts{{"a", 1023}, {"b", 65536}});
  CHECK(parse_hosts("[::1]:2222,me@a:2222") == Hosts{{"[::1]:2222", kNone}, {"me@a:2222", kNone}});
  CHECK(parse_hostfile("me@a slots=2 port=22\nb port=2222\nc slots=2000\n", "f") ==
        Hosts{{"me@a:port=22", 2}, {"b:2222", kNone}, {"c", 2000}});
  CHECK(refusal(parse_hosts("me@")).find("cannot be the name") != std::string::npos);
  CHECK(refusal(parse_hosts("a@b@c")).find("cannot be the name") != std::string::npos);
  CHECK(refusal(parse_hosts("-oX@a")).find("cannot be the name") != std::string::npos);
  CHECK(refusal(parse_hostfile("a port=0", "f")).find("port: ") != std::string::npos);
}

TEST_CASE("keys in a host list have any number of slots and any port") {
  CHECK(parse_hosts("a:port=22,n[1-2]:slots=2000:port=2222,[::1]:port=22:slots=3") ==
        Hosts{{"a:port=22", kNone}, {"n1:2222", 2000}, {"n2:2222", 2000}, {"[::1]:port=22", 3}});
  for (const char* wrong :
       {"a:port=0", "a:port=65536", "a:slots=0", "a:2:port=22", "a:x=1", "a:port="})
    CHECK_FALSE(parse_hosts(wrong));
  for (const HostEntry& host : Hosts{{"a", kNone},
                                     {"a", 2},
                                     {"me@a:port=22", kNone},
                                     {"a:2222", 3},
                                     {"a", 2000},
                                     {"::1", kNone},
                                     {"::1", 2},
                                     {"[::1]:port=22", 2}}) {
    INFO(host_text(host));
    CHECK(parse_hosts(host_text(host)) == Hosts{host});
  }
}

TEST_CASE("the parts of a login are its user, its host and its port") {
  const auto text = [](std::string_view name) {
    const LoginParts parts = parts_of_login(name);
    return std::string(parts.user) + "|" + std::string(parts.host) + "|" +
           (parts.port ? std::to_string(*parts.port) : "");
  };
  CHECK(text("a") == "|a|");
  CHECK(text("me@a:2222") == "me|a|2222");
  CHECK(text("a:22") == "|a|22");
  CHECK(text("me@a:port=22") == "me|a|22");
  CHECK(text("[fe80::1]:port=22") == "|fe80::1|22");
  CHECK(text("fe80::1") == "|fe80::1|");
  CHECK(text("[fe80::1]:2222") == "|fe80::1|2222");
  CHECK(text("me@a:x") == "me|a:x|");
}

TEST_CASE("a host's name is a host list of this one host, also with a port below 1024") {
  for (const char* spec : {"a:port=22", "me@a:port=1023", "[::1]:port=22", "a:port=1024"}) {
    CAPTURE(spec);
    const auto hosts = parse_hosts(spec);
    REQUIRE(hosts);
    CHECK(parse_hosts(hosts->front().name) == hosts);
    CHECK_FALSE(hosts->front().slots);
  }
}

TEST_CASE("the names of hosts have ports and no slots") {
  const auto folded_names = [](std::string_view spec) {
    const auto names = names_of_hosts(spec);
    return names ? names->fold() : names.error().text();
  };
  CHECK(folded_names("a:slots=4\na:4") == "a");
  CHECK(folded_names("n[1-3]!n2") == "n[1,3]");
  CHECK(folded_names("n1\nn[1-3]!n1") == "n[1-3]");
  CHECK(folded_names("a:2222:x").find("--nodeset: ") == 0);
  CHECK(folded_names("a:2222,a:port=22,me@a:3") == "a:2222,a:port=22,me@a");
}

TEST_CASE("an excluded host is left out whatever its user and port are") {
  CHECK(exclude_hosts({{"root@a", kNone}, {"b:2222", kNone}, {"c", kNone}}, "a,b") ==
        Hosts{{"c", kNone}});
  CHECK(exclude_hosts({{"root@a", kNone}, {"me@a", kNone}}, "me@a") == Hosts{{"root@a", kNone}});
}

TEST_CASE("slots of an excluded host say nothing, and its port leaves out that port only") {
  const Hosts hosts{{"n1", 4}, {"n1:2222", kNone}, {"n2", kNone}, {"[::1]:2222", kNone}};
  const Hosts without_n1{{"n2", kNone}, {"[::1]:2222", kNone}};
  for (const char* spec : {"n1", "n1:4", "n1:slots=4", "n[1,7]:2"}) {
    CAPTURE(spec);
    CHECK(exclude_hosts(hosts, spec) == without_n1);
  }
  CHECK(exclude_hosts(hosts, "n1:2222") == Hosts{{"n1", 4}, {"n2", kNone}, {"[::1]:2222", kNone}});
  CHECK(exclude_hosts(hosts, "n2:port=2222") == hosts);
  for (const char* spec : {"[::1]:2222", "::1"}) {
    CAPTURE(spec);
    CHECK(exclude_hosts(hosts, spec) == Hosts{{"n1", 4}, {"n1:2222", kNone}, {"n2", kNone}});
  }
  CHECK(exclude_hosts(parse_hosts("a:port=22,b").value(), "a:port=22") == Hosts{{"b", kNone}});
  CHECK(refusal(exclude_hosts(hosts, "n1:x")).find("--exclude: ") == 0);
}

TEST_CASE("excluded hosts are those of all lines of a text") {
  CHECK(exclude_hosts({{"n1", kNone}, {"n2", kNone}, {"n3", kNone}}, "n1\nn2:2222\nn3:4") ==
        Hosts{{"n2", kNone}});
}

TEST_CASE("hosts that a file or standard input excludes are left out whatever their slots are") {
  for (const char* text : {"node1 slots=4\n", "node1:4\n", "node1\n"}) {
    CAPTURE(text);
    const HostSourceReader read = [&](const std::string&) { return std::string(text); };
    for (const char* spec : {"^f", "-"}) {
      if (spec[0] == '-' && std::string_view(text).find('=') != std::string_view::npos) continue;
      const auto named = with_sources(spec, read);
      REQUIRE(named);
      CHECK(exclude_hosts({{"node1", kNone}, {"node2", kNone}}, *named) == Hosts{{"node2", kNone}});
    }
  }
}

TEST_CASE("a host list may name files, and standard input") {
  std::vector<std::string> asked;
  const HostSourceReader read = [&](const std::string& name) -> Result<std::string> {
    asked.push_back(name);
    if (name == "-") return std::string("n[1-2] x:2\n# none\ny,z\n");
    if (name == "/f") return std::string("a\nb slots=2\n[::1]:3\n");
    return fail(Error{ErrorKind::usage, "read", "", "no such file", "name one"});
  };
  CHECK(with_sources("n[1-4]!n2,m", read) == "n[1-4]!n2,m");
  CHECK(asked.empty());
  CHECK(with_sources("q,^/f", read) == "q\na,b:slots=2,[::1]:slots=3");
  CHECK(with_sources("q\n^/f,r,s!r", read) == "q\na,b:slots=2,[::1]:slots=3\nr,s!r");
  CHECK(with_sources("-", read) == "n1,n2,x:slots=2,y,z");
  CHECK(asked == std::vector<std::string>{"/f", "/f", "-"});
  CHECK_FALSE(with_sources("^", read));
  CHECK_FALSE(with_sources("^missing", read));
  const HostSourceReader empty = [](const std::string&) { return std::string(" \n"); };
  CHECK(with_sources("-", empty).error().text().find("it names no host") != std::string::npos);
}

}  // namespace hostfile_test
