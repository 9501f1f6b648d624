// Feeds the server of one rank's connection arbitrary bytes in arbitrary pieces: PMI-1 lines, PMI-2
// messages, one after the other, spawn requests. A job without a tree answers.
//
// The first byte is the size of the pieces. The second says how the job answers: its lowest four
// bits how many requests it lets wait (none: from within the call), then whether the last is
// answered first, whether with errors, whether the rank is cut off without the last answers. A
// third byte of 252 or more sends the rest 64 times over, of 255 a long one until it would be too
// much to hold. Checked: ids grow, what the job is asked is within the limits, every byte that goes
// out belongs to a line or message that is whole, a server that is broken or closed asks and says
// nothing more, and the memory of all that is bounded.
#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pmi/protocol/limits.h"
#include "pmi/protocol/pmi2/pmi2_wire.h"
#include "pmi/server/line_server.h"

namespace {

using namespace scela;
using namespace scela::pmi;

void require(bool claim) {
  if (!claim) std::abort();
}

constexpr std::size_t kLongestKey = std::max(kMaxKey, kMaxPmi2Key);
constexpr std::size_t kLongestValue = std::max(kMaxValue, kMaxPmi2Value);
// The memory that one connection may take: bytes that are not read, the lines of a spawn and what
// they become, requests that wait with their threads, answers that are not taken yet. Strings grow
// by doubling.
constexpr std::size_t kMaxMemory =
    2 * (kMaxBacklog + 2 * kMaxLine + kMaxSpawnBlock) + kMaxInFlight * 1024;

class Job final : public JobServices {
 public:
  explicit Job(std::uint8_t how)
      : max_waiting_(how & 0xfu), last_first_((how & 0x10u) != 0), fails_((how & 0x20u) != 0) {}
  void serve(LineServer& server) { server_ = &server; }

  JobFacts facts(Rank rank) const override {
    return {.rank = rank,
            .size = 2,
            .universe_size = 2,
            .kvsname = "kvs_0",
            .process_mapping = "(vector,(0,2,1))",
            .node_ranks = RankSet::single(0)};
  }
  void submit(Rank, ask::RequestId id, ask::Request request) override {
    require(!ended_);
    std::visit([](const auto& one) { check(one); }, request);
    ended_ = std::holds_alternative<ask::Abort>(request) ||
             std::holds_alternative<ask::Violation>(request);
    const auto* call = std::get_if<ask::Collective>(&request);
    if (!ended_)
      asked({id, call != nullptr && call->kind == ask::CollectiveKind::allgather ? 2U : 1U});
  }
  bool offer_segment(Rank) override { return !fails_; }
  bool lend_ring(Rank) override { return !fails_; }
  bool has_left(Rank, Rank about) override {
    require(about < 2);
    return !fails_;
  }

  bool ended() const { return ended_; }
  void cut_off() { ended_ = true; }
  void answer_all() {
    while (!waiting_.empty())
      answer_one();
  }

 private:
  static void pair(std::string_view key, std::string_view value) {
    require(key.size() <= kLongestKey && value.size() <= kLongestValue);
  }
  // These check that a request is within the limits.
  static void check(const ask::Put& put) { pair(put.key, put.value.view()); }
  static void check(const ask::Get& get) { pair(get.key, {}); }
  static void check(const ask::Collective& call) {
    require(call.set.contains(0) && RankSet::run(0, 2).contains_all(call.set));
    std::size_t bytes = 0;
    for (const Chunk& part : call.parts)
      bytes += part.size();
    require(bytes <= kMaxMessage);
  }
  static void check(const ask::PutNode& put) { pair(put.key, put.value); }
  static void check(const ask::GetNode& get) { pair(get.key, {}); }
  static void check(const ask::Name& name) {
    pair({}, name.name);
    pair({}, name.port);
  }
  static void check(const ask::Spawn& spawn) {
    require(!spawn.request.programs.empty());
    for (const ask::SpawnProgram& program : spawn.request.programs)
      require(!program.argv.empty() && !program.argv[0].empty() && program.ranks > 0);
    for (const auto& [key, value] : spawn.request.preput)
      pair(key, value);
  }
  static void check(const ask::Abort& abort) { require(abort.why.size() <= kMaxLine); }
  static void check(const ask::Violation& violation) {
    require(!violation.why.empty() && violation.why.size() < 500);
  }
  template <class Other>
  static void check(const Other& /*other*/) {}  // has no text
  struct Waiting {
    ask::RequestId id = 0;
    std::size_t parts = 1;  // of the answer
  };
  void asked(Waiting request) {
    require(request.id > last_);
    last_ = request.id;
    waiting_.push_back(request);
    require(waiting_.size() <= kMaxInFlight);
    while (waiting_.size() > max_waiting_)
      answer_one();
  }
  void answer_one() {
    const Waiting request = last_first_ ? waiting_.back() : waiting_.front();
    if (last_first_) {
      waiting_.pop_back();
    } else {
      waiting_.pop_front();
    }
    if (fails_) {
      server_->answered(request.id, {.ok = false, .error = "no; such = thing\n"});
    } else {
      server_->answered(
          request.id, {.found = true, .parts = std::vector<Chunk>(request.parts, Chunk("v;1 ="))});
    }
  }

  std::size_t max_waiting_;
  bool last_first_;
  bool fails_;
  LineServer* server_ = nullptr;
  ask::RequestId last_ = 0;
  std::deque<Waiting> waiting_;
  bool ended_ = false;
};

// Checks that the output is lines as long as the rank speaks PMI-1, and messages once it has chosen
// PMI-2.
void check_output(std::string_view output, bool& messages) {
  while (!output.empty()) {
    std::size_t end = 0;
    if (output.starts_with("cmd=") && !messages) {
      end = output.find('\n');
      require(end != std::string_view::npos);
      ++end;
    } else {
      messages = true;
      require(output.size() >= kLengthField);
      const auto length = parse_length(output.substr(0, kLengthField));
      require(length && *length <= output.size() - kLengthField);
      require(parse_message(output.substr(kLengthField, *length)).has_value());
      end = kLengthField + *length;
    }
    output.remove_prefix(end);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::size_t piece = 1U + data[0];
  const std::string_view body(reinterpret_cast<const char*>(data) + 3, size - 3);
  const std::size_t before = __sanitizer_get_current_allocated_bytes();
  Job job(data[1]);
  LineServer server(job, 0);
  job.serve(server);
  bool messages = false;
  const auto step = [&](std::string_view bytes) {
    const bool silent = job.ended();
    server.receive(bytes);
    require(__sanitizer_get_current_allocated_bytes() <= before + kMaxMemory);
    const std::string output = server.take_output();
    require(!silent || output.empty());
    check_output(output, messages);
    require(server.broken() == job.ended());
  };
  const std::size_t most = data[2] >= 250 && body.size() >= 1000 ? kMaxMemory * 5 / 4 / body.size()
                           : data[2] >= 252                      ? 64
                                                                 : 1;
  for (std::size_t times = 0; times < most && !job.ended(); ++times) {
    for (std::string_view rest = body; !rest.empty();
         rest.remove_prefix(std::min(piece, rest.size()))) {
      step(rest.substr(0, piece));
    }
  }
  if ((data[1] & 0x40u) == 0) {
    job.answer_all();
    check_output(server.take_output(), messages);
  }
  server.unfinished();
  server.closed();
  job.cut_off();
  server.receive(body);
  job.answer_all();
  require(server.take_output().empty());
  return 0;
}
