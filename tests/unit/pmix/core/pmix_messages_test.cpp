#include "pmix/core/pmix_messages.h"

#include <catch2/catch.hpp>

#include "common/core/bytes.h"
#include "pmix/core/process.h"

namespace pmix_messages_test {

using namespace scela;
using namespace scela::pmix;

namespace {

std::vector<Message> samples() {
  msg::Setup setup;
  setup.job = "job";
  setup.directory = "/tmp/node/pmix";
  setup.rank_directory = "/tmp/node/ranks";
  setup.node = 1;
  setup.hosts = {"n0", "n1"};
  msg::World world;
  world.nspace = "job.1";
  world.first = 3;
  world.parent = 2;
  world.universe = 9;
  world.map = {{0, 2, 3}};
  world.neighbours = 4;
  world.hosts = {"n0", "n1", "n2"};
  world.programs = {{RankSet::run(3, 4), "./a b", "/home"}, {RankSet::run(7, 2), "./c", ""}};
  const msg::Spawn spawn{
      11, 2, {{{"./a", "b"}, {"A=1"}, 3, "/home", "n0", "/bin"}, {{"./c"}, {}, 0, "", "", ""}}};
  RankSet some = RankSet::run(0, 3);
  some.add(7);
  return {setup,
          msg::Answer{1, Status::not_found, std::string("\0blob", 5)},
          msg::DataAsked{2, 3, "key"},
          msg::Environment{3, {"A=1", "B="}},
          msg::Ready{},
          msg::Failed{"no memory"},
          msg::Connected{5},
          msg::Finalized{4, 5},
          msg::Abort{5, 1, -7, "gone"},
          msg::Fence{6, some, std::string(3 * kMaxPiece + 1, 'x'), "group"},
          msg::DataWanted{7, 9, "key"},
          msg::DataNoMore{7},
          msg::Data{8, Status::too_large, "card"},
          msg::Publish{9, 2, "name", Keep::rank, "value", Range::node},
          msg::Lookup{10, 2, "name", true},
          msg::Unpublish{std::uint64_t{1} << 40, 2, "name"},
          msg::TableWanted{11, true, some},
          msg::Notify{some, std::string("\0event", 6)},
          msg::Control{12, some, 9},
          msg::Log{13, 2, true, "line"},
          msg::Event{"event"},
          msg::RanksFailed{some},
          world,
          spawn,
          msg::GiveUp{14},
          msg::Pull{some, true, false},
          msg::PullNoMore{},
          msg::Copy{3, true, 12, "written"},
          msg::Taken{3, 7},
          msg::Stopped{4},
          msg::Release{some}};
}

// All that a stream holds, fed in steps of so many bytes; nothing if it is malformed.
std::optional<std::vector<Message>> decoded(std::string_view stream, std::size_t step) {
  Decoder decoder;
  std::vector<Message> out;
  for (; !stream.empty(); stream.remove_prefix(std::min(step, stream.size()))) {
    decoder.feed(stream.substr(0, step));
    while (true) {
      auto message = decoder.next();
      if (!message) return std::nullopt;
      if (!*message) break;
      out.push_back(std::move(**message));
    }
  }
  return out;
}

std::string frame(std::uint8_t kind, const std::string& payload) {
  return frame_header(kind, payload.size()) + payload;
}

}  // namespace

TEST_CASE("PMIx messages come back as they were sent, whatever the pieces") {
  REQUIRE(samples().size() == std::variant_size_v<MessageKinds>);
  std::string stream;
  for (const Message& message : samples())
    stream += encode(message);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, kMaxPiece, stream.size()}) {
    const auto back = decoded(stream, step);
    REQUIRE(back.has_value());
    CHECK((*back == samples()));
  }
}

TEST_CASE("PMIx messages that are cut, too long or unknown end the stream") {
  for (const Message& message : samples()) {
    const std::string whole = encode(message);
    if (whole.size() > kMaxPiece) continue;
    const auto kind = static_cast<std::uint8_t>(message.index() + 1);
    const std::string payload = whole.substr(kFrameHeader);
    for (std::size_t size = 0; size < payload.size(); ++size) {
      // A text at the end may be shorter, but its length then says otherwise.
      CHECK_FALSE(decoded(frame(kind, payload.substr(0, size)), 4096).has_value());
    }
    CHECK_FALSE(decoded(frame(kind, payload + '\0'), 4096).has_value());
  }
  CHECK_FALSE(decoded(frame(0, ""), 4096).has_value());
  CHECK_FALSE(decoded(frame(std::variant_size_v<MessageKinds> + 1, ""), 4096).has_value());
  CHECK_FALSE(decoded(frame(kPieceKind, ""), 4096).has_value());
}

TEST_CASE("flags, statuses and counts of PMIx messages are believed only where they can be") {
  ByteWriter lookup;
  lookup.varint(1);
  lookup.varint(2);
  lookup.text("name");
  lookup.u8(2);
  CHECK_FALSE(decoded(frame(14, lookup.bytes()), 4096).has_value());
  ByteWriter answer;
  answer.varint(1);
  answer.u8(static_cast<std::uint8_t>(Status::timed_out) + 1);
  answer.text("");
  CHECK_FALSE(decoded(frame(2, answer.bytes()), 4096).has_value());
  ByteWriter environment;
  environment.varint(0);
  environment.varint(std::uint64_t{1} << 60);
  CHECK_FALSE(decoded(frame(4, environment.bytes()), 4096).has_value());
}

TEST_CASE("a table of PMIx processes comes back as it was, and only as it was") {
  const std::vector<Process> table = {{0, 4711, ProcessState::connected, 0},
                                      {1, 0, ProcessState::signaled, 9},
                                      {70000, 0, ProcessState::exited, -1}};
  const std::string bytes = encode_processes(table);
  CHECK(decode_processes(bytes) == table);
  CHECK(decode_processes(encode_processes({})) == std::vector<Process>());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_processes(bytes.substr(0, size)).has_value());
  CHECK_FALSE(decode_processes(bytes + '\0').has_value());
  ByteWriter many;
  many.varint(std::uint64_t{1} << 60);
  CHECK_FALSE(decode_processes(many.bytes()).has_value());
  ByteWriter other;  // a state that is none
  other.varint(1);
  other.varint(0);
  other.varint(0);
  other.u8(static_cast<std::uint8_t>(ProcessState::lost) + 1);
  other.u32(0);
  CHECK_FALSE(decode_processes(other.bytes()).has_value());
}

}  // namespace pmix_messages_test
