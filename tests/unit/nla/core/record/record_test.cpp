#include "nla/core/record/record.h"

#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/core/text.h"
#include "nla/core/pmix/engine_directory.h"
#include "tests/unit/nla/core/wire/samples.h"

namespace record_test {

using namespace scela;
using namespace scela::nla;

namespace {

// Appends `base` as it is, and once for each change, with one member different each time.
template <class Variant, class Struct>
void vary(std::vector<Variant>& out, const Struct& base,
          const std::vector<std::function<void(Struct&)>>& changes) {
  out.emplace_back(base);
  for (const auto& change : changes) {
    Struct changed = base;
    change(changed);
    out.emplace_back(std::move(changed));
  }
}

Job small_job(const std::string& id) {
  Job job;
  job.id = id;
  job.map = RankMap::from_blocks({{0, 1, 2}});
  job.apps = {App{{"./p"}, {}, "", "", RankSet::run(0, 2)}};
  return job;
}

Chunk bytes(const char* text) {
  return Chunk(std::string(text));
}

// Every alternative of Request, and every member of each changed once.
std::vector<Request> requests() {
  std::vector<Request> out;
  vary<Request, ask::Put>(out, {},
                          {[](auto& r) { r.key = "k"; }, [](auto& r) { r.value = bytes("v"); }});
  vary<Request, ask::Get>(out, {}, {[](auto& r) { r.key = "k"; }, [](auto& r) { r.wait = true; }});
  vary<Request, ask::Collective>(
      out, {},
      {[](auto& r) { r.kind = CollectiveKind::gather; },
       [](auto& r) { r.set = RankSet::run(0, 4); }, [](auto& r) { r.root = 1; },
       [](auto& r) {
         r.parts = {bytes("p"), Chunk()};
       },
       [](auto& r) { r.tag = 1; }});
  vary<Request, ask::Send>(out, {},
                           {[](auto& r) { r.destination = 1; }, [](auto& r) { r.tag = 1; },
                            [](auto& r) { r.bytes = bytes("b"); }});
  vary<Request, ask::Receive>(out, {}, {[](auto& r) { r.source = 1; }, [](auto& r) { r.tag = 1; }});
  vary<Request, ask::Abort>(out, {}, {[](auto& r) { r.code = -1; }, [](auto& r) { r.why = "w"; }});
  vary<Request, ask::Violation>(out, {}, {[](auto& r) { r.why = "w"; }});
  vary<Request, ask::PutNode>(out, {},
                              {[](auto& r) { r.key = "k"; }, [](auto& r) { r.value = "v"; }});
  vary<Request, ask::GetNode>(out, {},
                              {[](auto& r) { r.key = "k"; }, [](auto& r) { r.wait = true; }});
  vary<Request, ask::Name>(
      out, {},
      {[](auto& r) { r.act = NameAct::unpublish; }, [](auto& r) { r.name = "n"; },
       [](auto& r) { r.port = "p"; }, [](auto& r) { r.range = NameRange::node; }});
  vary<Request, ask::Failed>(out, {}, {});
  vary<Request, ask::Spawn>(out, {},
                            {[](auto& r) {
                               r.request.programs = {{{"p", "a"}, 1, {}}};
                             },
                             [](auto& r) {
                               r.request.programs = {{{"p"}, 2, {{"host", "h"}}}};
                             },
                             [](auto& r) {
                               r.request.preput = {{"k", "v"}};
                             }});
  return out;
}

std::vector<Event> root_events() {
  using namespace event;
  std::vector<Event> out;
  vary<Event, Begin>(out, {},
                     {[](auto& e) { e.job_id = "j"; },
                      [](auto& e) {
                        e.hosts = {"a", "b"};
                      },
                      [](auto& e) { e.degree = 2; }, [](auto& e) { e.grace_ms = 1; },
                      [](auto& e) { e.settings = "s"; }, [](auto& e) { e.clock_ns = 1; }});
  vary<Event, Launch>(out, {small_job("job-a")}, {[](auto& e) { e.job = small_job("job-b"); }});
  World world;
  world.apps = small_job("job-a").apps;
  world.map = small_job("job-a").map;
  vary<Event, Planned>(out, {},
                       {[](auto& e) { e.rank = 1; }, [](auto& e) { e.id = 1; },
                        [](auto& e) { e.why = "w"; }, [&](auto& e) { e.world = world; },
                        [&](auto& e) {
                          e.world = world;
                          e.world.preput = {{"k", "v"}};
                        }});
  vary<Event, AddHosts>(out, {},
                        {[](auto& e) { e.hosts = {"a"}; },
                         [](auto& e) {
                           e.hosts = {"a", "b"};
                         }});
  vary<Event, Inspect>(out, {},
                       {[](auto& e) { e.what = Inspection::stacks; },
                        [](auto& e) { e.limit_ms = 1; }, [](auto& e) { e.words = {"tool"}; }});
  vary<Event, NodeDown>(out, {}, {[](auto& e) { e.node = 1; }, [](auto& e) { e.why = "w"; }});
  vary<Event, UserSignal>(out, {}, {[](auto& e) { e.signo = 2; }});
  vary<Event, Stop>(out, {},
                    {[](auto& e) { e.cause = StopCause::timeout; }, [](auto& e) { e.signo = 9; },
                     [](auto& e) { e.grace_ms = 1; }});
  vary<Event, StdinRead>(out, {},
                         {[](auto& e) { e.bytes = bytes("b"); }, [](auto& e) { e.end = true; }});
  vary<Event, OutputWritten>(out, {}, {[](auto& e) { e.bytes = 1; }});
  vary<Event, WindowChanged>(
      out, {},
      {[](auto& e) { e.size.rows = 1; }, [](auto& e) { e.size.columns = 1; },
       [](auto& e) { e.size.x_pixels = 1; }, [](auto& e) { e.size.y_pixels = 1; }});
  return out;
}

std::vector<Event> link_and_shell_events() {
  using namespace event;
  std::vector<Event> out;
  vary<Event, Received>(out, {},
                        {[](auto& e) { e.link = 1; }, [](auto& e) { e.message = msg::Credit{7}; },
                         [](auto& e) {
                           e.message = msg::Output{1, Stream::out, false, bytes("x")};
                         },
                         [](auto& e) { e.clock_ns = 1; }});
  vary<Event, LinkEnded>(out, {}, {[](auto& e) { e.link = 1; }, [](auto& e) { e.why = "w"; }});
  vary<Event, ChildFailed>(
      out, {},
      {[](auto& e) { e.link = 1; }, [](auto& e) { e.phase = StartPhase::hello; },
       [](auto& e) { e.why = "w"; }, [](auto& e) { e.hand_back = true; }});
  vary<Event, ChildBegun>(out, {}, {[](auto& e) { e.link = 1; }});
  vary<Event, ChildGone>(out, {}, {[](auto& e) { e.link = 1; }});
  vary<Event, NodeEmpty>(out, {}, {});
  vary<Event, TimerFired>(out, {}, {[](auto& e) { e.timer = Timer::give_up; }});
  vary<Event, GuardianLost>(out, {}, {[](auto& e) { e.was_told = true; }});
  vary<Event, SendTrace>(out, {},
                         {[](auto& e) { e.last = true; }, [](auto& e) { e.bytes = bytes("b"); }});
  vary<Event, Inspected>(out, {},
                         {[](auto& e) { e.last = true; }, [](auto& e) { e.bytes = bytes("b"); }});
  vary<Event, Say>(out, {},
                   {[](auto& e) { e.record.level = LogLevel::error; },
                    [](auto& e) { e.record.subsystem = Subsystem::pmi; },
                    [](auto& e) { e.record.node = "n"; }, [](auto& e) { e.record.text = "t"; }});
  vary<Event, Measured>(out, {},
                        {[](auto& e) { e.sent_bytes = 1; }, [](auto& e) { e.private_bytes = 1; },
                         [](auto& e) { e.resident_bytes = 1; }});
  return out;
}

std::vector<Event> rank_events() {
  using namespace event;
  std::vector<Event> out;
  vary<Event, RankStarted>(out, {}, {[](auto& e) { e.rank = 1; }});
  vary<Event, RankNotStarted>(
      out, {},
      {[](auto& e) { e.rank = 1; }, [](auto& e) { e.error = 2; }, [](auto& e) { e.why = "w"; }});
  vary<Event, RanksRefused>(out, {},
                            {[](auto& e) { e.ranks = RankSet::single(1); },
                             [](auto& e) { e.error = 2; }, [](auto& e) { e.why = "w"; }});
  vary<Event, RankExited>(
      out, {},
      {[](auto& e) { e.rank = 1; }, [](auto& e) { e.outcome.ending = Ending::signaled; },
       [](auto& e) { e.outcome.code = 3; }, [](auto& e) { e.outcome.core_dumped = true; },
       [](auto& e) { e.outcome.ended_by_us = true; }, [](auto& e) { e.outcome.why = "w"; }});
  vary<Event, RankOutput>(out, {},
                          {[](auto& e) { e.rank = 1; }, [](auto& e) { e.stream = Stream::err; },
                           [](auto& e) { e.bytes = bytes("b"); }});
  vary<Event, RankStreamEnded>(
      out, {}, {[](auto& e) { e.rank = 1; }, [](auto& e) { e.stream = Stream::err; }});
  vary<Event, StdinTaken>(out, {}, {[](auto& e) { e.bytes = 1; }});
  vary<Event, PairUsed>(out, {}, {[](auto& e) { e.key = "k"; }});
  vary<Event, StdinClosed>(out, {}, {[](auto& e) { e.rank = 1; }});
  vary<Event, Asked>(out, {}, {[](auto& e) { e.rank = 1; }, [](auto& e) { e.id = 1; }});
  for (const Request& request : requests())
    out.emplace_back(Asked{9, 9, request});
  return out;
}

std::vector<Event> every_event() {
  std::vector<Event> out = root_events();
  for (auto& more : {link_and_shell_events(), rank_events()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::vector<Action> node_actions() {
  using namespace action;
  std::vector<Action> out;
  vary<Action, Send>(out, {},
                     {[](auto& a) { a.link = 1; },
                      [](auto& a) {
                        a.message = msg::Stdin{false, bytes("x")};
                      },
                      [](auto& a) {
                        a.message = msg::Stdin{false, bytes("y")};
                      }});
  vary<Action, StartChild>(
      out, {},
      {[](auto& a) { a.link = 1; }, [](auto& a) { a.node = 1; }, [](auto& a) { a.end = 1; },
       [](auto& a) { a.host = "h"; }, [](auto& a) { a.attach = true; }});
  vary<Action, AwaitAdoption>(out, {}, {[](auto& a) { a.still = false; }});
  vary<Action, CloseLink>(out, {}, {[](auto& a) { a.link = 1; }});
  vary<Action, LoseChild>(out, {}, {[](auto& a) { a.link = 1; }});
  vary<Action, KillAgent>(out, {}, {});
  vary<Action, StartRanks>(out, {}, {[](auto& a) { a.ranks = RankSet::single(1); }});
  vary<Action, UseJob>(out, {small_job("job-a")}, {[](auto& a) { a.job = small_job("job-b"); }});
  vary<Action, SignalRanks>(out, {}, {[](auto& a) { a.signo = 1; }});
  vary<Action, EndLeftovers>(out, {}, {[](auto& a) { a.force = true; }});
  vary<Action, SetTimer>(
      out, {}, {[](auto& a) { a.timer = Timer::drain; }, [](auto& a) { a.delay_ms = 1; }});
  vary<Action, CancelTimer>(out, {}, {[](auto& a) { a.timer = Timer::drain; }});
  vary<Action, Reply>(
      out, {},
      {[](auto& a) { a.rank = 1; }, [](auto& a) { a.id = 1; },
       [](auto& a) { a.response.ok = false; }, [](auto& a) { a.response.error = "e"; },
       [](auto& a) { a.response.found = true; }, [](auto& a) { a.response.parts = {bytes("p")}; },
       [](auto& a) {
         a.response.parts = {bytes("p"), Chunk()};
       }});
  vary<Action, ReadOutput>(out, {}, {[](auto& a) { a.bytes = 1; }});
  vary<Action, DropStreams>(out, {}, {});
  vary<Action, WriteStdin>(out, {},
                           {[](auto& a) { a.bytes = bytes("b"); }, [](auto& a) { a.end = true; }});
  vary<Action, ResizeTerminal>(
      out, {}, {[](auto& a) { a.size.rows = 1; }, [](auto& a) { a.size.columns = 1; }});
  vary<Action, RanksFailed>(out, {}, {[](auto& a) { a.ranks = RankSet::single(1); }});
  vary<Action, NodesLost>(out, {}, {[](auto& a) { a.nodes = RankSet::single(1); }});
  vary<Action, Reconnected>(out, {}, {[](auto& a) { a.ranks = RankSet::single(1); }});
  World world;
  world.apps = small_job("job-a").apps;
  world.map = small_job("job-a").map;
  vary<Action, AddWorld>(out, {}, {[&](auto& a) { a.world = world; }});
  vary<Action, EndRanks>(out, {}, {[](auto& a) { a.ranks = RankSet::single(1); }});
  vary<Action, InspectRanks>(
      out, {},
      {[](auto& a) { a.what = Inspection::stacks; }, [](auto& a) { a.limit_ms = 1; },
       [](auto& a) { a.words = {"tool"}; }});
  vary<Action, Finishing>(out, {}, {});
  vary<Action, Finish>(out, {}, {});
  return out;
}

std::vector<Action> root_actions() {
  using namespace action;
  std::vector<Action> out;
  vary<Action, NodeFailed>(
      out, NodeFailed{},
      {[](auto& a) { a.failure.node = 1; }, [](auto& a) { a.failure.phase = StartPhase::hello; },
       [](auto& a) { a.failure.why = "w"; }});
  vary<Action, AllReady>(out, {},
                         {[](auto& a) { a.agents = 1; },
                          [](auto& a) {
                            a.topologies = {{"t", RankSet::single(2)}};
                          }});
  vary<Action, Inspected>(out, {},
                          {[](auto& a) { a.node = 1; }, [](auto& a) { a.last = true; },
                           [](auto& a) { a.bytes = bytes("b"); }});
  vary<Action, AllLaunched>(out, {}, {[](auto& a) { a.ranks = 1; }});
  vary<Action, ShowOutput>(out, {},
                           {[](auto& a) { a.rank = 1; }, [](auto& a) { a.stream = Stream::err; },
                            [](auto& a) { a.end = true; }, [](auto& a) { a.bytes = bytes("b"); }});
  vary<Action, Spawn>(out, {},
                      {[](auto& a) { a.rank = 1; }, [](auto& a) { a.id = 1; },
                       [](auto& a) {
                         a.request.preput = {{"k", "v"}};
                       }});
  vary<Action, WorldLaunched>(
      out, {}, {[](auto& a) { a.ranks = RankSet::single(1); }, [](auto& a) { a.why = "w"; }});
  vary<Action, HostsAdded>(out, {},
                           {[](auto& a) { a.nodes.first = 1; }, [](auto& a) { a.nodes.end = 1; }});
  vary<Action, ShowLog>(out, {}, {[](auto& a) { a.record.text = "t"; }});
  vary<Action, FirstFailure>(out, {},
                             {[](auto& a) { a.rank = 1; }, [](auto& a) { a.outcome.code = 1; }});
  vary<Action, ReadStdin>(out, {}, {[](auto& a) { a.bytes = 1; }});
  vary<Action, TracePiece>(out, {},
                           {[](auto& a) { a.node = 1; }, [](auto& a) { a.last = true; },
                            [](auto& a) { a.bytes = bytes("b"); }});
  vary<Action, JobEnded>(
      out, {},
      {[](auto& a) {
         a.verdicts = {{Outcome{}, RankSet::single(1)}};
       },
       [](auto& a) { a.stats.agents = 1; }, [](auto& a) { a.stats.messages = 1; },
       [](auto& a) { a.stats.bytes = 1; }, [](auto& a) { a.stats.max_private_bytes = 1; },
       [](auto& a) { a.stats.max_resident_bytes = 1; }, [](auto& a) { a.stats.cache_bytes = 1; },
       [](auto& a) { a.stats.root_cache_bytes = 1; }, [](auto& a) { a.stats.output_bytes = 1; }});
  return out;
}

// A log with every event; entry i was answered by i log records.
std::string sample_log(std::vector<std::size_t>* ends = nullptr) {
  RecordWriter writer(Role::root);
  std::string log = writer.take();
  Actions actions;
  for (const Event& event : every_event()) {
    if (ends != nullptr) ends->push_back(log.size());
    writer.add(event, actions);
    actions.push_back(action::ShowLog{{LogLevel::info, Subsystem::tree, "", "next"}});
    log += writer.take();
  }
  if (ends != nullptr) ends->push_back(log.size());
  return log;
}

}  // namespace

TEST_CASE("every event comes back from its bytes, and every member of it counts") {
  std::set<std::size_t> kinds;
  std::set<std::string> encodings;
  for (const Event& event : every_event()) {
    const std::string bytes_of_event = encode(event);
    INFO(name_of(event));
    REQUIRE(encodings.insert(bytes_of_event).second);  // no two events share their bytes
    kinds.insert(event.index());
    ByteReader in(bytes_of_event);
    const auto back = decode_event(in);
    REQUIRE(back.has_value());
    REQUIRE(in.done());
    REQUIRE(back->index() == event.index());
    REQUIRE(encode(*back) == bytes_of_event);
  }
  CHECK(kinds.size() == std::variant_size_v<EventKinds>);
}

TEST_CASE("received messages of every kind come back") {
  Random random(1);
  for (std::size_t index = 0; index < std::variant_size_v<MessageKinds>; ++index) {
    for (int round = 0; round < 20; ++round) {
      const Message sent = samples::message(random, index);
      const std::string bytes_of_event = encode(Event(event::Received{3, sent, 99}));
      ByteReader in(bytes_of_event);
      const auto back = decode_event(in);
      REQUIRE(back.has_value());
      REQUIRE(samples::same(std::get<event::Received>(*back).message, sent));
    }
  }
}

TEST_CASE("every truncation of every event is an error") {
  for (const Event& event : every_event()) {
    const std::string whole = encode(event);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      ByteReader in(std::string_view(whole).substr(0, length));
      const auto back = decode_event(in);
      INFO(name_of(event) << " cut to " << length);
      REQUIRE_FALSE(back.has_value());
      REQUIRE(back.error().kind == ErrorKind::protocol);
    }
  }
}

TEST_CASE("random bytes are read as events without harm") {
  Random random(2);
  for (int round = 0; round < 30000; ++round) {
    std::string noise = samples::text(random, 50);
    if (!noise.empty()) noise[0] = static_cast<char>(random.below(26));
    ByteReader in(noise);
    const auto back = decode_event(in);
    if (back) REQUIRE_FALSE(encode(*back).empty());
  }
}

TEST_CASE("the digest sees every member of every action, and their order") {
  std::set<std::size_t> kinds;
  std::set<std::uint64_t> digests;
  Actions all = node_actions();
  for (const Action& one : root_actions())
    all.push_back(one);
  for (const Action& one : all) {
    INFO(name_of(one));
    kinds.insert(one.index());
    REQUIRE(digests.insert(digest({one})).second);
    REQUIRE(digest({one}) == digest({one}));
  }
  CHECK(kinds.size() == std::variant_size_v<ActionKinds>);
  const Actions forward = {action::ReadOutput{1}, action::ReadOutput{2}};
  const Actions backward = {action::ReadOutput{2}, action::ReadOutput{1}};
  CHECK(digest(forward) != digest(backward));
}

TEST_CASE("the digest is xxHash64 with seed 0, pinned") {
  CHECK(digest({}) == 0xef46db3751d8e999u);  // of no bytes, as published
}

TEST_CASE("a record holds no key of the adapter's engines, and the digest is the same without") {
  const std::string key(64, 'a'), none(64, '0');
  const auto about = [](const std::string& secret) { return Chunk("192.0.2.1:7000 " + secret); };
  const auto asked = [&](const std::string& secret) {
    return Event(event::Asked{3, 7, ask::Send{1, kEngineTag, about(secret)}});
  };
  const auto routed = [&](const std::string& secret) {
    return msg::RoutedMessage{3, 1, kEngineTag, 79, 0, about(secret)};
  };
  const auto actions = [&](const std::string& secret) {
    ByteWriter tag;
    tag.varint(kEngineTag);
    Response response;
    response.parts = {Chunk(std::string("3")), Chunk(tag.take()), about(secret)};
    return Actions{action::Send{2, routed(secret)}, action::Reply{1, kUnasked, response}};
  };
  CHECK(digest(actions(key)) == digest(actions(none)));
  CHECK(digest(actions(key)) != digest({}));
  RecordWriter writer(Role::agent);
  writer.add(asked(key), actions(key));
  writer.add(event::Received{2, routed(key), 5}, actions(key));
  const std::string log = writer.take();
  CHECK(log.find("192.0.2.1:7000 ") != std::string::npos);
  CHECK(log.find(key.substr(0, 16)) == std::string::npos);
  RecordWriter same(Role::agent);
  same.add(asked(none), actions(none));
  same.add(event::Received{2, routed(none), 5}, actions(none));
  CHECK(same.take() == log);
  // Messages of ranks are as they were.
  RecordWriter other(Role::agent);
  other.add(event::Asked{3, 7, ask::Send{1, 5, about(key)}}, {});
  CHECK(other.take().find(key) != std::string::npos);
}

TEST_CASE("a log gives back its role, its events and their digests in order") {
  const std::string log = sample_log();
  auto reader = RecordReader::open(log);
  REQUIRE(reader.has_value());
  CHECK(reader->role() == Role::root);
  Actions actions;
  for (const Event& event : every_event()) {
    const auto entry = reader->next();
    REQUIRE(entry.has_value());
    REQUIRE(entry->has_value());
    REQUIRE(encode((*entry)->event) == encode(event));
    REQUIRE((*entry)->digest == digest(actions));
    actions.push_back(action::ShowLog{{LogLevel::info, Subsystem::tree, "", "next"}});
  }
  CHECK_FALSE(reader->next()->has_value());
  CHECK_FALSE(reader->cut_short());
}

TEST_CASE("a log cut anywhere gives its whole entries and says that it was cut") {
  std::vector<std::size_t> ends;
  const std::string log = sample_log(&ends);
  for (std::size_t length = 0; length <= log.size(); ++length) {
    const std::string part = log.substr(0, length);
    auto reader = RecordReader::open(part);
    REQUIRE(reader.has_value() == (length >= ends.front()));
    if (!reader) continue;
    std::size_t entries = 0;
    for (;;) {
      const auto entry = reader->next();
      REQUIRE(entry.has_value());
      if (!entry->has_value()) break;
      ++entries;
    }
    std::size_t whole = 0;
    while (whole + 1 < ends.size() && ends[whole + 1] <= length)
      ++whole;
    REQUIRE(entries == whole);
    REQUIRE(reader->cut_short() == (ends[whole] != length));
  }
}

TEST_CASE("a log that is none, or of another version, is refused with both versions") {
  const auto none = RecordReader::open("#!/bin/sh\necho hello\n");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().kind == ErrorKind::usage);
  CHECK(none.error().hint.find("--record") != std::string::npos);

  std::string log = RecordWriter(Role::agent).take();
  REQUIRE(RecordReader::open(log).has_value());
  CHECK(RecordReader::open(log)->role() == Role::agent);
  std::string newer = log;
  newer[log.size() - 3] = 42;
  const auto refused = RecordReader::open(newer);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().why.find("42") != std::string::npos);
  CHECK(refused.error().why.find(cat("reads ", kRecordVersion)) != std::string::npos);
  log.back() = 9;
  CHECK_FALSE(RecordReader::open(log).has_value());  // no such role
}

TEST_CASE("a damaged entry is an error that names its event by number") {
  RecordWriter writer(Role::agent);
  writer.add(event::NodeEmpty{}, {});
  writer.add(event::NodeEmpty{}, {});
  std::string log = writer.take();
  log[log.size() - 9] = static_cast<char>(200);  // the kind of the second event
  auto reader = RecordReader::open(log);
  REQUIRE(reader->next().has_value());
  const auto broken = reader->next();
  REQUIRE_FALSE(broken.has_value());
  CHECK(broken.error().what.find("event 1") != std::string::npos);
}

TEST_CASE("a replayed root does what it did, and a changed answer is named by number and event") {
  const std::vector<Event> events = {event::Begin{"job-1", {"a", "b", "c"}, 2, 100, "", 5},
                                     event::Received{1, msg::Hello{kProtocolVersion, 0, 5, 6}, 7},
                                     event::ChildFailed{2, StartPhase::connect, "no route", false}};
  const auto record = [&](std::size_t changed) {
    Agent agent(Role::root);
    RecordWriter writer(Role::root);
    for (std::size_t i = 0; i < events.size(); ++i) {
      Actions actions;
      agent.handle(events[i], actions);
      if (i == changed) actions.push_back(action::Finish{});
      writer.add(events[i], actions);
    }
    return writer.take();
  };
  const auto same = replay(record(99));
  REQUIRE(same.has_value());
  INFO(same->text());
  CHECK_FALSE(same->difference.has_value());
  CHECK(same->events == 3);
  CHECK(same->role == Role::root);
  CHECK_FALSE(same->cut_short);

  const std::string cut = record(99);
  const auto shorter = replay(std::string_view(cut).substr(0, cut.size() - 1));
  CHECK(shorter->cut_short);
  CHECK(shorter->events == 2);

  const auto other = replay(record(1));
  REQUIRE(other.has_value());
  REQUIRE(other->difference.has_value());
  CHECK(other->difference->index == 1);
  CHECK(other->difference->event == "Received");
  CHECK(other->text().find("event 1 (Received)") != std::string::npos);

  const auto first = replay(record(0));
  CHECK(first->difference->event == "Begin");
  CHECK(first->difference->actions.find("StartChild") != std::string::npos);
  CHECK_FALSE(replay("nonsense").has_value());
}

}  // namespace record_test
