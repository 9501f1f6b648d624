// Where calls are checked (SCELA_COLL_CHECK, CommunicatorOptions::check): what ranks tell each
// other of a call before it is run, and what is wrong with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/communicator/arguments.h"
#include "collectives/communicator/collective.h"
#include "collectives/communicator/pair_sizes.h"
#include "collectives/core/layout.h"
#include "collectives/core/shape.h"
#include "collectives/executors/factory.h"

namespace scela::collectives {

// As it goes over the wire: the same on all ranks.
struct CallRecord {
  std::uint64_t bytes = 0;  // of one rank's block, or the message
  std::uint64_t parts = 0;  // of all ranks' sizes, where all know them: a hash
  // Of the messages of a v form whose sizes no rank knows all of: sums of hashes, which are equal
  // over all ranks if each message is expected as it is sent.
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  // Of a reduction of the program's own: which function it is, by a hash, and in which file; 0:
  // nobody knows.
  std::uint64_t function = 0;
  std::uint64_t module = 0;
  std::int32_t root = 0;
  std::uint32_t segments = 0;
  std::uint32_t radix = 0;
  std::uint32_t element_bytes = 0;
  Operation operation = Operation::barrier;
  Refusal refusal = Refusal::none;
  ElementType type = ElementType::opaque;
  std::uint8_t op = 0;  // a ReduceOp, or kOwnOp
  bool commutes = true;
  bool in_place = false;
  bool has_parts = false;
  bool knows_bytes = false;
  char algorithm[24] = {};  // its name, and zeros
};
static_assert(sizeof(CallRecord) == 96);
inline constexpr std::uint8_t kOwnOp = 0xff;

// `algorithm` and `shape` of a call that is not refused. `sizes`: of it, by rank `rank`.
CallRecord record_of(const Collective::Inside& call, const Arguments& arguments,
                     const PairSizes& sizes, int rank, const Algorithm* algorithm,
                     const Shape& shape);
// What is wrong with a call of which these are the ranks' records: the first rank that differs from
// most of them, in what, and from whom. None: they fit.
std::optional<Fault> judge(std::span<const CallRecord> records);

// Whether some messages of the call are not expected as they are sent, though judge() finds
// nothing.
bool sizes_differ(std::span<const CallRecord> records);

// A run's prelude, with its records. Where sizes differ ranks tell each other all of them in
// another one, so that it can be said whose.
class Checked {
 public:
  Checked(std::shared_ptr<const Plan> plan, const CallRecord& own, PairSizes sizes, int rank,
          std::size_t ranks);
  Checked(const Checked&) = delete;
  Checked& operator=(const Checked&) = delete;

  // Of the next run.
  const Prelude* prelude();
  // The plan for so many ranks.
  static Result<std::shared_ptr<const Plan>> plan(int rank, int ranks);

 private:
  const Prelude* tell_sizes();

  CallRecord own_;
  PairSizes own_sizes_;
  std::size_t rank_;
  std::vector<CallRecord> records_;
  Layout layout_;
  Prelude prelude_;
  std::vector<std::uint64_t> sizes_;  // of all ranks
  Layout sizes_layout_;
  Prelude sizes_prelude_;
};

}  // namespace scela::collectives
