#include "nla/io/trace.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/core/frame.h"
#include "nla/io/constants.h"

namespace trace_test {

using namespace scela;
using namespace scela::nla;
using Json = nlohmann::json;

namespace {

std::vector<Json> lines_of(const Tracer& tracer, std::uint32_t process, std::string_view name,
                           const RankSet& ranks) {
  Pieces report;
  tracer.add_lines(report, process, name, ranks);
  std::vector<Json> events;
  for (const Chunk& piece : report.take()) {
    CHECK(piece.size() <= kMaxPiece);
    std::istringstream in{std::string(piece.view())};
    for (std::string line; std::getline(in, line);)
      events.push_back(Json::parse(line));
  }
  return events;
}

}  // namespace

TEST_CASE("spans become complete events in microseconds, threads and processes have names") {
  Tracer tracer;
  tracer.enable();
  tracer.span("run", 1'002'003, 5'002'003, 7);
  tracer.span("build tree", 5, 4);  // a clock that was set back meanwhile
  const std::vector<Json> events = lines_of(tracer, 3, "node \"2\"", RankSet::single(7));
  REQUIRE(events.size() == 5);
  CHECK(events[0]["args"]["name"] == "node \"2\"");
  CHECK(events[2]["args"]["name"] == "rank 7");
  CHECK(events[3] ==
        Json::parse(R"({"name":"run","ph":"X","pid":3,"tid":8,"ts":1002.003,"dur":4000.0})"));
  CHECK(events[4]["tid"] == 0);
  CHECK(events[4]["dur"] == 0.0);
}

TEST_CASE("without a request no span is kept, and never more than the limit") {
  Tracer idle;
  idle.span("run", 1, 2);
  CHECK(lines_of(idle, 1, "n", {}).size() == 2);
  Tracer busy;
  busy.enable();
  for (std::size_t i = 0; i < kMaxSpans + 10; ++i)
    busy.span("get", i, i + 1, 0);
  const std::vector<Json> events = lines_of(busy, 1, "n", {});
  CHECK(events.size() == kMaxSpans + 3);
  CHECK(events.back()["args"]["name"] == "10 spans were not kept");
}

}  // namespace trace_test
