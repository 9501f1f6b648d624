#include "hca/engine/daemon/trace_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/core/text.h"
#include "common/os/private_dir.h"

namespace trace_file_test {

using namespace scela;
using namespace scela::hca;
using Json = nlohmann::json;

namespace {

struct Folder {
  Folder() : path(temporary_base() + "/scela-trace-XXXXXX") {
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    file = path + "/trace";
  }
  ~Folder() { static_cast<void>(remove_tree(path)); }
  Json events() const {
    std::ifstream in(file);
    return Json::parse(in);
  }
  std::string path, file;
};

Json named(const Json& events, const std::string& name) {
  Json found = Json::array();
  for (const Json& event : events)
    if (event["name"] == name) found.push_back(event);
  return found;
}

}  // namespace

TEST_CASE("a trace is whole whenever it was written, and names processes and queue pairs") {
  const Folder folder;
  auto trace = TraceFile::make(folder.file);
  REQUIRE(trace);
  CHECK(folder.events().size() == 1);
  CHECK(folder.events()[0]["args"]["name"] == "scela-hca");
  trace->joined(5, ::getpid());
  const TraceSink::Request request{5, 17, QpType::xrc_send, Opcode::rdma_write, 99, 4096};
  trace->posted(request);
  const Moment began = trace->time();
  trace->executed(request, began, Status::success);
  trace->write();
  Json events = folder.events();
  const Json done = named(events, "rdma_write");
  REQUIRE(done.size() == 1);
  CHECK(done[0]["ph"] == "X");
  CHECK(done[0]["pid"] == ::getpid());
  CHECK(done[0]["tid"] == 17);
  CHECK(done[0]["ts"].get<double>() == Approx(static_cast<double>(began) / 1e3).epsilon(1e-9));
  CHECK(done[0]["args"] == Json{{"wr_id", 99}, {"bytes", 4096}, {"status", 0}});
  CHECK(named(events, "posted rdma_write").size() == 1);
  REQUIRE(named(events, "thread_name").size() == 1);
  CHECK(named(events, "thread_name")[0]["args"]["name"] == "XRC_SEND queue pair 17");

  Completion completion;
  completion.wr_id = 99;
  completion.qpn = 17;
  completion.status = Status::flushed;
  trace->completed(5, completion);
  trace->woken(5);
  trace->slept(trace->time(), TraceFile::Woken::doorbell);
  trace->write();
  events = folder.events();
  REQUIRE(named(events, "completed").size() == 1);
  CHECK(named(events, "completed")[0]["args"]["status"] == 5);
  CHECK(named(events, "woken").size() == 1);
  REQUIRE(named(events, "sleep").size() == 1);
  CHECK(named(events, "sleep")[0]["args"]["woken by"] == "bell");
  CHECK(named(events, "thread_name").size() == 1);
}

TEST_CASE("spans of one queue pair do not overlap: each shows how long it was the oldest") {
  const Folder folder;
  auto trace = TraceFile::make(folder.file);
  REQUIRE(trace);
  trace->joined(1, ::getpid());
  const Moment first = trace->time(), second = trace->time();
  trace->executed({1, 3, QpType::rc, Opcode::send, 1, 0}, first, Status::success);
  trace->executed({1, 3, QpType::rc, Opcode::send, 2, 0}, second, Status::success);
  // This request was taken before a watcher looked on.
  trace->executed({1, 4, QpType::rc, Opcode::send, 3, 0}, 0, Status::success);
  trace->write();
  const Json spans = named(folder.events(), "send");
  REQUIRE(spans.size() == 3);
  const double end = spans[0]["ts"].get<double>() + spans[0]["dur"].get<double>();
  CHECK(spans[1]["ts"].get<double>() >= end - 0.001);
  CHECK(spans[2]["dur"].get<double>() == 0);
}

TEST_CASE("a trace that is full says how much was left out, and grows no more") {
  const Folder folder;
  constexpr std::uint64_t kMax = 2000;
  auto trace = TraceFile::make(folder.file, kMax);
  REQUIRE(trace);
  trace->joined(1, ::getpid());
  for (std::uint64_t i = 0; i < 100; ++i) {
    trace->posted({1, 3, QpType::rc, Opcode::wait, i, 0});
    if (i % 7 == 0) trace->write();
  }
  trace->write();
  struct stat about {};
  REQUIRE(::stat(folder.file.c_str(), &about) == 0);
  CHECK(about.st_size <= static_cast<off_t>(kMax));
  const Json events = folder.events();
  const std::size_t kept = named(events, "posted wait").size();
  CHECK(kept > 3);
  CHECK(events.back()["args"]["labels"] == cat(100 - kept, " events were left out"));
}

TEST_CASE("a trace's name may hold the engine's number, and must be one that can be written") {
  const Folder folder;
  REQUIRE(TraceFile::make(folder.path + "/of-%p.json"));
  CHECK(::access(cat(folder.path, "/of-", ::getpid(), ".json").c_str(), F_OK) == 0);
  const auto none = TraceFile::make(folder.path + "/missing/trace");
  REQUIRE_FALSE(none);
  CHECK(none.error().text().find("missing/trace") != std::string::npos);
}

}  // namespace trace_file_test
