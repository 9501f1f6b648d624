#include "launcher/core/detect/bulk_roster.h"

#include <catch2/catch.hpp>

namespace bulk_roster_test {

using namespace scela;
using Time = BulkRoster::Time;

namespace {

constexpr Time kLimit{100};

BulkRoster roster_of(std::vector<std::string> hosts, Time now = Time(0)) {
  return {std::move(hosts), "b", kLimit, now};
}

}  // namespace

TEST_CASE("bulk roster: agents come in any order, one for each host of the job") {
  BulkRoster roster = roster_of({"n1", "n2", "n3"});
  CHECK(roster.admit("n3", "b", Time(1)) == 2);
  CHECK(roster.admit("n1", "b", Time(2)) == 0);
  CHECK(roster.admit("n2", "b", Time(3)) == 1);
}

TEST_CASE("bulk roster: an agent of another build, of no host, or a host's second one is refused") {
  BulkRoster roster = roster_of({"n1", "n2"});
  CHECK_FALSE(roster.admit("n1", "other", Time(0)));
  CHECK_FALSE(roster.admit("n3", "b", Time(0)));
  CHECK_FALSE(roster.admit("", "b", Time(0)));
  CHECK(roster.admit("n1", "b", Time(0)));
  CHECK_FALSE(roster.admit("n1", "b", Time(0)));
  CHECK_FALSE(roster.admit("n1.cluster", "b", Time(0)));
  CHECK(roster.left(Time(0)) == kLimit);  // n2 is still waited for
}

TEST_CASE("bulk roster: a host's name may lack its domain, or have one more") {
  BulkRoster roster = roster_of({"n1.cluster", "n2", "n22"});
  CHECK(roster.admit("n2.cluster", "b", Time(0)) == 1);
  CHECK(roster.admit("n1", "b", Time(0)) == 0);
  CHECK_FALSE(roster.admit("n", "b", Time(0)));
}

TEST_CASE("bulk roster: of similar names the equal one is meant, and none if several could be") {
  const std::vector<std::string> hosts = {"n1.a", "n1.b", "n1"};
  CHECK(host_called(hosts, "n1") == 2);
  CHECK(host_called(hosts, "n1.b") == 1);
  CHECK_FALSE(host_called(std::span(hosts).first(2), "n1"));
}

TEST_CASE("bulk roster: the wait ends when all have come, or when the next one is late") {
  BulkRoster roster = roster_of({"n1", "n2", "n3"}, Time(1000));
  CHECK(roster.left(Time(1040)) == Time(60));
  CHECK(roster.left(Time(1100)) == Time(0));
  roster.admit("n1", "b", Time(1090));
  CHECK(roster.left(Time(1100)) == Time(90));
  roster.admit("n1", "b", Time(1150));  // a refused one gives no more time
  CHECK(roster.left(Time(1189)) == Time(1));
  CHECK(roster.left(Time(2000)) == Time(0));
  roster.admit("n2", "b", Time(1190));
  roster.admit("n3", "b", Time(1191));
  CHECK(roster.left(Time(1191)) == Time(0));
}

}  // namespace bulk_roster_test
