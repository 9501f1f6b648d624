// Feeds the sessions of PMGR and of MVAPICH 1, and what is said before them, arbitrary bytes in
// arbitrary pieces, and answers what they ask.
//
// The first byte is the size of the pieces, the second chooses the dialect. Checked: at most one
// operation is outstanding (but for an abort, which waits for none), what the job is asked has the
// parts that the operation needs and no more bytes than are announced, and a session that is over
// stays silent; a greeting always comes to a meaning.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pmi/protocol/greeting.h"
#include "pmi/protocol/pmgr.h"

namespace {

using namespace scela;
using namespace scela::pmi;

constexpr Rank kRank = 1;
constexpr Rank kSize = 3;

void require(bool claim) {
  if (!claim) std::abort();
}

std::size_t parts_of(const ask::Collective& call) {
  switch (call.kind) {
    case ask::CollectiveKind::barrier:
    case ask::CollectiveKind::fence:  // CLOSE
      return 0;
    case ask::CollectiveKind::gather:
    case ask::CollectiveKind::allgather:
      return 1;
    case ask::CollectiveKind::broadcast:
      return call.root == kRank ? 1 : 0;
    case ask::CollectiveKind::scatter:
      return call.root == kRank ? kSize : 0;
    case ask::CollectiveKind::alltoall:
      return kSize;
  }
  return 0;
}

// Returns what all ranks would get if all had given the same. If `wrong` is true, one part is
// shorter.
ask::Response result_of(const ask::Collective& call, bool wrong) {
  using Kind = ask::CollectiveKind;
  ask::Response result;
  const bool one = call.kind == Kind::broadcast || call.kind == Kind::scatter;
  const bool nothing = call.kind == Kind::barrier || call.kind == Kind::fence ||
                       (call.kind == Kind::gather && call.root != kRank);
  const Chunk part = call.parts.empty() ? Chunk(std::string(4, 'x')) : call.parts.front();
  for (Rank from = 0; from < (one ? 1 : kSize) && !nothing; ++from)
    result.parts.push_back(wrong && from == 0 ? part.slice(1) : part);
  return result;
}

// Returns true if the session may still speak.
bool serve(PmgrSession& session, unsigned& answers) {
  while (auto request = session.next()) {
    const auto* asked = std::get_if<ask::Request>(&*request);
    if (asked == nullptr) return false;
    if (const auto* broken = std::get_if<ask::Violation>(asked)) {
      require(!broken->why.empty() && broken->why.size() < 500);
    }
    const auto* call = std::get_if<ask::Collective>(asked);
    if (call == nullptr) return false;
    require(call->set == RankSet::run(0, kSize));
    require(call->root < kSize && call->parts.size() == parts_of(*call));
    std::size_t bytes = 0;
    for (const Chunk& part : call->parts)
      bytes += part.size();
    require(bytes <= kMaxPmgrBytes);
    if (auto early = session.next()) {
      const auto* urgent = std::get_if<ask::Request>(&*early);
      require(urgent != nullptr && std::holds_alternative<ask::Abort>(*urgent));
      return false;
    }
    session.answer(result_of(*call, ++answers % 5 == 0));
  }
  return true;
}

void greet(Dialect dialect, std::string_view bytes) {
  const auto is_in = [](Rank rank) {
    require(rank < kSize);
    return rank == 2;
  };
  for (std::size_t length = 0; length <= bytes.size() && length <= kMaxGreeting; ++length) {
    const std::string_view said = bytes.substr(0, length);
    const auto meant = read_greeting(dialect, said, false, kSize, is_in);
    require(read_greeting(dialect, said, true, kSize, is_in).has_value());
    if (meant) {
      const auto* hello = std::get_if<greeting::Hello>(&*meant);
      require(hello == nullptr || (hello->used <= length && hello->rank < kSize));
      return;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = 1U + data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  for (const Dialect dialect : {Dialect::pmi1, Dialect::pmgr, Dialect::mvapich1})
    greet(dialect, rest);
  const auto session =
      data[1] % 2 == 0 ? make_pmgr_session(kRank, kSize) : make_mvapich1_session(kRank, kSize);
  bool speaks = true;
  unsigned answers = 0;
  while (!rest.empty()) {
    session->receive(rest.substr(0, piece));
    rest.remove_prefix(rest.size() < piece ? rest.size() : piece);
    if (speaks) {
      speaks = serve(*session, answers);
      static_cast<void>(session->take_output());
    } else {
      require(!session->next().has_value() && session->take_output().empty());
      require(!session->wants_bytes());
    }
  }
  return 0;
}
