// Tests the status: an error and its message, and the message of a receive.
#include "comm-channel/include/scela/status.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "comm-channel/engine/status_writer.h"

namespace scela::channel::status_test {
namespace {

// A condition says which of the two it means by ok().
static_assert(!std::is_constructible_v<bool, Status>);

TEST_CASE("status: one that was not set is ok, and describes no error and no message") {
  const Status status;
  CHECK(status.ok());
  CHECK(status.code() == Code::ok);
  CHECK(status.rank() == -1);
  CHECK(status.message() == "no error");
  CHECK(status.source() == -1);
  CHECK(status.tag() == -1);
  CHECK(status.bytes() == 0);
}

TEST_CASE("status: an error has its code, its rank and the message that it was given") {
  const Status status(Code::bad_rank, 7, "send to rank 7: there are ranks 0 to 1");
  CHECK_FALSE(status.ok());
  CHECK(status.code() == Code::bad_rank);
  CHECK(status.rank() == 7);
  CHECK(status.message() == "send to rank 7: there are ranks 0 to 1");
  CHECK(status.source() == -1);
  CHECK(status.tag() == -1);
  CHECK(status.bytes() == 0);
  CHECK(Status(Code::other, -1, "").message().empty());
}

TEST_CASE(
    "status: an error without a message has that of its code, with the rank if there is one") {
  const Status named(Code::peer_ended, 3);
  CHECK_FALSE(named.ok());
  CHECK(named.rank() == 3);
  CHECK(named.message() == "rank 3: the peer has ended");
  CHECK(Status(Code::peer_ended, 0).message() == "rank 0: the peer has ended");
  CHECK(Status(Code::peer_ended, -1).message() == "the peer has ended");
}

TEST_CASE("status: a copy keeps all of it when the other changes") {
  Status status(Code::mismatch, 2, "the ranks differ");
  StatusWriter::set_message(status, 5, 6, 7);
  const Status copy = status;
  status = Status();
  CHECK(status.ok());
  CHECK(copy.code() == Code::mismatch);
  CHECK(copy.rank() == 2);
  CHECK(copy.message() == "the ranks differ");
  CHECK(copy.source() == 5);
  CHECK(copy.tag() == 6);
  CHECK(copy.bytes() == 7);
}

TEST_CASE("status: a received message stays with an error that is set or removed") {
  Status status = StatusWriter::of_message(1, 2, 300);
  const auto has_message = [&] {
    return status.source() == 1 && status.tag() == 2 && status.bytes() == 300;
  };
  CHECK(status.ok());
  CHECK(has_message());
  StatusWriter::set_error(status, Status(Code::truncated, 1, "it is too long"));
  CHECK(status.code() == Code::truncated);
  CHECK(status.rank() == 1);
  CHECK(status.message() == "it is too long");
  CHECK(has_message());
  StatusWriter::clear_error(status);
  CHECK(status.ok());
  CHECK(status.rank() == -1);
  CHECK(status.message() == "no error");
  CHECK(has_message());
}

TEST_CASE("status: every code has a name of its own, in one line") {
  std::set<std::string> names;
  constexpr auto kLast = static_cast<unsigned char>(Code::other);
  const std::string unknown = name_of(static_cast<Code>(kLast + 1));
  for (unsigned char code = 0; code <= kLast; ++code) {
    CAPTURE(static_cast<int>(code));
    const std::string name = name_of(static_cast<Code>(code));
    CHECK_FALSE(name.empty());
    CHECK(name.find('\n') == std::string::npos);
    CHECK(name != unknown);
    CHECK(names.insert(name).second);
    CHECK(Status(static_cast<Code>(code), -1).message() == name);
  }
  CHECK(names.size() == std::size_t{kLast} + 1);
}

}  // namespace
}  // namespace scela::channel::status_test
