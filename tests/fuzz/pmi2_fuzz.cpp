// Feeds a PMI-2 session arbitrary bytes in arbitrary pieces and answers what it asks, late and out
// of order.
//
// The first byte is the size of the pieces. Checked: the number of requests in flight is bounded,
// what the job is asked is within the limits, what goes out are whole messages that parse, and a
// session that was broken or aborted stays silent.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/protocol/limits.h"
#include "pmi/protocol/pmi2/pmi2_session.h"

namespace {

using namespace scela;
using namespace scela::pmi;

void require(bool claim) {
  if (!claim) std::abort();
}

void check_output(std::string_view output) {
  while (!output.empty()) {
    require(output.size() > kLengthField);
    const auto length = parse_length(output.substr(0, kLengthField));
    require(length && *length <= output.size() - kLengthField);
    const auto message = parse_message(output.substr(kLengthField, *length));
    require(message && message->find("rc") && message->command().ends_with("-response"));
    output.remove_prefix(kLengthField + *length);
  }
}

void check_words(std::string_view name, std::string_view value, std::size_t longest) {
  require(!name.empty() && name.size() <= longest && value.size() <= kMaxPmi2Value);
}

void check_request(const ask::Request& request) {
  if (const auto* put = std::get_if<ask::Put>(&request)) {
    check_words(put->key, put->value.view(), kMaxPmi2Key);
  }
  if (const auto* get = std::get_if<ask::Get>(&request)) check_words(get->key, "", kMaxPmi2Key);
  if (const auto* put = std::get_if<ask::PutNode>(&request)) {
    check_words(put->key, put->value, kMaxPmi2Key);
  }
  if (const auto* get = std::get_if<ask::GetNode>(&request)) check_words(get->key, "", kMaxPmi2Key);
  if (const auto* spawn = std::get_if<ask::Spawn>(&request)) {
    require(!spawn->request.programs.empty());
    for (const ask::SpawnProgram& program : spawn->request.programs)
      require(!program.argv.empty() && !program.argv[0].empty() && program.ranks > 0);
    for (const auto& [key, value] : spawn->request.preput)
      check_words(key, value, kMaxPmi2Key);
  }
  if (const auto* name = std::get_if<ask::Name>(&request)) {
    check_words(name->name, name->port, kMaxPmi2Value);
  }
}

bool is_ring(const ask::Request& request) {
  const auto* call = std::get_if<ask::Collective>(&request);
  return call != nullptr && call->kind == ask::CollectiveKind::allgather;
}

struct Waiting {
  ask::RequestId number = 0;
  std::size_t parts = 1;  // of the answer
};

// Returns true if the session may still speak.
bool serve(Pmi2Session& session, ask::RequestId& asked, std::vector<Waiting>& waiting) {
  for (;;) {
    while (auto request = session.next()) {
      waiting.push_back({++asked, 1});
      if (const auto* to_job = std::get_if<ask::Request>(&*request)) {
        if (std::holds_alternative<ask::Abort>(*to_job)) return false;
        if (const auto* violation = std::get_if<ask::Violation>(to_job)) {
          require(!violation->why.empty() && violation->why.size() < 500);
          return false;
        }
        check_request(*to_job);
        if (is_ring(*to_job)) waiting.back().parts = 2;
      }
      require(waiting.size() <= kMaxInFlight);
    }
    if (waiting.size() < 3) return true;
    // The test answers the last request first, which is out of order.
    const Waiting last = waiting.back();
    session.answer(last.number,
                   {.found = true, .parts = std::vector<Chunk>(last.parts, Chunk("1;"))});
    waiting.pop_back();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1U + data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  Pmi2Session session({.rank = 0,
                       .size = 2,
                       .universe_size = 2,
                       .kvsname = "job_0",
                       .process_mapping = "(vector,(0,2,1))"});
  ask::RequestId asked = 0;
  std::vector<Waiting> waiting;
  bool speaks = true;
  while (!rest.empty()) {
    session.receive(rest.substr(0, piece));
    rest.remove_prefix(rest.size() < piece ? rest.size() : piece);
    if (speaks) {
      speaks = serve(session, asked, waiting);
      check_output(session.take_output());
    } else {
      require(!session.next().has_value() && session.take_output().empty());
    }
  }
  return 0;
}
