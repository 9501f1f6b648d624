#include "collectives/executors/run/run_failure.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace scela::collectives::run_failure_test {
namespace {

std::vector<std::byte> bytes_of(const FailureNote& note, std::uint64_t message) {
  const auto bytes = note.instead_of(message);
  return {bytes.begin(), bytes.end()};
}

TEST_CASE("run failure: a note brings the rank at fault and the reason") {
  const FailureNote dead({FaultCode::peer_ended, 3, "rank 3: it has ended"});
  const auto fault = FailureNote::read(bytes_of(dead, 100), 5);
  REQUIRE(fault);
  CHECK(fault->code == FaultCode::peer_ended);
  CHECK(fault->rank == 3);
  CHECK(fault->refusal == Refusal::none);
  CHECK(fault->words ==
        "rank 3: " + std::string(name_of(FaultCode::peer_ended)) + " (rank 5 says so)");
  const FailureNote refused({FaultCode::other, 2, "its root is out of range", Refusal::root});
  const auto refusal = FailureNote::read(bytes_of(refused, 0), 1);
  REQUIRE(refusal);
  CHECK(refusal->refusal == Refusal::root);
  CHECK(refusal->words == "rank 2: " + reason_of(Refusal::root) + " (rank 1 says so)");
}

TEST_CASE("run failure: a note never has the length of the message that it replaces") {
  const FailureNote note({FaultCode::other, 0, ""});
  for (std::uint64_t message = 0; message <= 2 * FailureNote::kRoom; ++message) {
    CHECK(note.instead_of(message).size() != message);
    CHECK(note.instead_of(message).size() == FailureNote::length(message));
    CHECK(FailureNote::length(message) <= FailureNote::kRoom);
    CHECK(FailureNote::read(note.instead_of(message), 1));
  }
}

TEST_CASE("run failure: bytes that are no note are not read as one") {
  const FailureNote note({FaultCode::other, 0, ""});
  auto bytes = bytes_of(note, 1);
  bytes[12] = std::byte{255};  // the code
  CHECK_FALSE(FailureNote::read(bytes, 1));
  std::ranges::fill(bytes, std::byte{0});
  CHECK_FALSE(FailureNote::read(bytes, 1));
}

TEST_CASE("run failure: the first fault stays, with its task and rank") {
  const auto list = parse("blocks in 1 out 1 scratch 0\nsend 1 <- in[0]\nwait sent 1 1\nsignal\n");
  REQUIRE(list);
  RunFailure failure;
  CHECK_FALSE(failure);
  CHECK(failure.error() == nullptr);
  failure.record({FaultCode::resources, -1, "no memory"}, 0, *list, 7);
  failure.record({FaultCode::peer_ended, 1, "later"}, 1, *list, 7);
  REQUIRE(failure);
  CHECK(failure.error()->fault.rank == 7);
  CHECK(failure.error()->task == 0);
  CHECK(failure.error()->text() == "no memory [task 0 'send 1 <- in[0]']");
  const auto sent = FailureNote::read(failure.note().instead_of(8), 7);
  REQUIRE(sent);
  CHECK(sent->rank == 7);
  CHECK(sent->code == FaultCode::resources);
  failure.clear();
  CHECK_FALSE(failure);
}

TEST_CASE("run failure: ends of ranks and lists that differ fail other operations too") {
  const auto list = parse("blocks in 1 out 1 scratch 0\nsignal\n");
  REQUIRE(list);
  const auto is_lasting = [&](Fault fault, std::uint32_t task) {
    RunFailure failure;
    failure.record(std::move(fault), task, *list, 0);
    return failure.is_lasting();
  };
  CHECK(is_lasting({FaultCode::peer_ended, 1, ""}, kNoTask));
  CHECK(is_lasting({FaultCode::mismatch, 1, ""}, 0));
  CHECK_FALSE(is_lasting({FaultCode::mismatch, 1, ""}, kNoTask));
  CHECK_FALSE(is_lasting({FaultCode::mismatch, 1, "", Refusal::sizes}, 0));
  CHECK_FALSE(is_lasting({FaultCode::cancelled, 0, ""}, 0));
}

}  // namespace
}  // namespace scela::collectives::run_failure_test
