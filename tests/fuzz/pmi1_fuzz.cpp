// Feeds a PMI-1 session arbitrary bytes in arbitrary pieces and answers what it asks.
//
// The first byte is the size of the pieces. Checked: at most one request is outstanding (but for an
// abort, which waits for no answer, and barriers of groups, which are bounded), what the job is
// asked is within the limits, every byte that goes out belongs to a line that parses, and a session
// that was broken, aborted or left for PMI-2 stays silent.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/protocol/limits.h"
#include "pmi/protocol/pmi1.h"

namespace {

using namespace scela::pmi;

void require(bool claim) {
  if (!claim) std::abort();
}

void check_output(std::string_view output) {
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    require(end != std::string_view::npos);
    const std::string_view text = output.substr(0, end);
    // An unknown command is echoed in its answer, so a line may be a little longer than what came
    // in.
    if (text.size() <= kMaxLine) require(parse_line(text).has_value());
    require(text.starts_with("cmd="));
    output.remove_prefix(end + 1);
  }
}

// The requests that the job was asked and has not answered.
struct Outstanding {
  RequestId asked = 0;
  std::vector<RequestId> barriers;
};

// Returns true if the session may still speak.
bool serve(Pmi1Session& session, Outstanding& outstanding) {
  while (auto request = session.next()) {
    if (std::holds_alternative<ask::Abort>(*request)) return false;
    if (const auto* violation = std::get_if<ask::Violation>(&*request)) {
      require(!violation->why.empty() && violation->why.size() < 500);
      return false;
    }
    ++outstanding.asked;
    if (const auto* put = std::get_if<ask::Put>(&*request)) {
      require(!put->key.empty() && put->key.size() < kMaxKey && put->value.size() < kMaxValue);
    }
    if (const auto* publish = std::get_if<ask::Publish>(&*request)) {
      require(publish->name.size() < kMaxValue && publish->port.size() < kMaxValue);
    }
    if (const auto* spawn = std::get_if<ask::Spawn>(&*request)) {
      require(!spawn->programs.empty());
      for (const SpawnProgram& program : spawn->programs)
        require(!program.argv.empty() && !program.argv[0].empty() && program.ranks > 0);
      for (const auto& [key, value] : spawn->preput)
        require(!key.empty() && key.size() < kMaxKey && value.size() < kMaxValue);
    }
    if (const auto* fence = std::get_if<ask::GroupFence>(&*request)) {
      require(fence->group.contains(0) && scela::RankSet::run(0, 2).contains_all(fence->group));
      outstanding.barriers.push_back(outstanding.asked);
      require(outstanding.barriers.size() <= kMaxInFlight);
      continue;
    }
    if (auto early = session.next()) {
      require(std::holds_alternative<ask::Abort>(*early));
      return false;
    }
    session.answer(outstanding.asked, {.found = true, .value = "v"});
    if (outstanding.barriers.size() > 2) {
      session.answer(outstanding.barriers.front(), {});
      outstanding.barriers.erase(outstanding.barriers.begin());
    }
  }
  return !session.handed_over();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1U + data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  Pmi1Session session({.rank = 0,
                       .size = 2,
                       .universe_size = 2,
                       .kvsname = "kvs_0",
                       .process_mapping = "(vector,(0,2,1))",
                       .node_ranks = scela::RankSet::single(0)});
  Outstanding outstanding;
  bool speaks = true;
  while (!rest.empty()) {
    session.receive(rest.substr(0, piece));
    rest.remove_prefix(rest.size() < piece ? rest.size() : piece);
    if (speaks) {
      speaks = serve(session, outstanding);
      check_output(session.take_output());
    } else {
      require(!session.next().has_value() && session.take_output().empty());
    }
  }
  return 0;
}
