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
#include "pmi/protocol/pmi1/pmi1.h"

namespace {

using namespace scela;
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
  ask::RequestId asked = 0;
  std::vector<ask::RequestId> barriers;
};

// Checks that a request is within the limits.
void check_request(const ask::Request& request) {
  if (const auto* put = std::get_if<ask::Put>(&request)) {
    require(!put->key.empty() && put->key.size() < kMaxKey && put->value.size() < kMaxValue);
  }
  if (const auto* name = std::get_if<ask::Name>(&request)) {
    require(name->name.size() < kMaxValue && name->port.size() < kMaxValue);
  }
  if (const auto* spawn = std::get_if<ask::Spawn>(&request)) {
    require(!spawn->request.programs.empty());
    for (const ask::SpawnProgram& program : spawn->request.programs)
      require(!program.argv.empty() && !program.argv[0].empty() && program.ranks > 0);
    for (const auto& [key, value] : spawn->request.preput)
      require(!key.empty() && key.size() < kMaxKey && value.size() < kMaxValue);
  }
  if (const auto* fence = std::get_if<ask::Collective>(&request)) {
    require(fence->set.contains(0) && RankSet::run(0, 2).contains_all(fence->set));
  }
}

bool is_abort(const SessionRequest& request) {
  const auto* asked = std::get_if<ask::Request>(&request);
  return asked != nullptr && std::holds_alternative<ask::Abort>(*asked);
}

// Returns nullptr if the request is no barrier.
const ask::Collective* fence_in(const SessionRequest& request) {
  const auto* asked = std::get_if<ask::Request>(&request);
  return asked == nullptr ? nullptr : std::get_if<ask::Collective>(asked);
}

// Returns true if the barrier may be one without a group. After any other the session goes on.
bool may_be_plain(const ask::Collective& fence) {
  return fence.tag == 0 && fence.set == RankSet::run(0, 2);
}

// Returns true if the session may still speak.
bool serve(Pmi1Session& session, Outstanding& outstanding) {
  while (auto request = session.next()) {
    if (is_abort(*request)) return false;
    if (const auto* asked = std::get_if<ask::Request>(&*request)) {
      if (const auto* violation = std::get_if<ask::Violation>(asked)) {
        require(!violation->why.empty() && violation->why.size() < 500);
        return false;
      }
      check_request(*asked);
    }
    ++outstanding.asked;
    if (const ask::Collective* fence = fence_in(*request)) {
      if (!may_be_plain(*fence)) {
        outstanding.barriers.push_back(outstanding.asked);
        require(outstanding.barriers.size() <= kMaxInFlight);
        continue;
      }
    } else if (auto early = session.next()) {
      require(is_abort(*early));
      return false;
    }
    session.answer(outstanding.asked, {.found = true, .parts = {Chunk("v")}});
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
                       .node_ranks = RankSet::single(0)});
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
