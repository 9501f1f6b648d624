// Checks calls (SCELA_COLL_CHECK, CommunicatorOptions::check). Before a call is run, its ranks
// exchange records of it and judge them. Communicators use it. Two threads must not use a Checked
// at once; the functions have no state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/communicator/call/arguments.h"
#include "collectives/communicator/call/collective.h"
#include "collectives/communicator/call/pair_sizes.h"
#include "collectives/core/layout.h"
#include "collectives/core/shape.h"
#include "collectives/executors/factory.h"

namespace scela::collectives {

// A rank's record of a call, as it goes over the wire. The layout is the same on all ranks.
struct CallRecord {
  std::uint64_t bytes = 0;  // of one rank's block, or the message
  std::uint64_t parts = 0;  // hash of all sizes, if all know them
  // For a v form of which no rank knows all sizes: sums of hashes over this rank's messages. The
  // sums over all ranks are equal if each message is expected as it is sent.
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  // For a reduction of the program's own: hashes of the function and of its file. If they are 0,
  // the function is not known.
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
  char algorithm[24] = {};  // its name, padded with zeros
};
static_assert(sizeof(CallRecord) == 96);
inline constexpr std::uint8_t kOwnOp = 0xff;

// Makes the record of rank `rank`. If the call is refused and its list is not known, `algorithm` is
// null. `sizes` are those of this call.
CallRecord record_of(const Collective::Inside& call, const Arguments& arguments,
                     const PairSizes& sizes, int rank, const Algorithm* algorithm,
                     const Shape& shape);
// Judges the records of a call, by rank. The fault names the first rank that differs from most of
// them, and in what and from which it differs. Returns std::nullopt if the records fit.
std::optional<Fault> judge(std::span<const CallRecord> records);

// Returns true if some messages of the call are not expected as they are sent. judge() does not see
// that.
bool sizes_differ(std::span<const CallRecord> records);

// The prelude of a run, with its records. If sizes differ, the ranks exchange all sizes in a second
// prelude, so that the error can name the rank.
class Checked {
 public:
  // `plan` is that of plan() below, and `own` is the record of this rank.
  Checked(std::shared_ptr<const Plan> plan, const CallRecord& own, PairSizes sizes, int rank,
          std::size_t ranks);
  Checked(const Checked&) = delete;
  Checked& operator=(const Checked&) = delete;

  // Returns the prelude of the next run. It belongs to this object.
  const Prelude* prelude();
  // Makes the plan of preludes for so many ranks.
  static Result<std::shared_ptr<const Plan>> plan(int rank, int ranks);

 private:
  // Makes the second prelude, with the sizes that this rank knows, and returns it.
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
