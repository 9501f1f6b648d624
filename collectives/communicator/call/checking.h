// Checks calls (SCELA_COLL_CHECK, CommunicatorOptions::check). Before a call is run, its ranks
// exchange records of it and compare them. If the records do not fit, all ranks get the same error
// and the call is not run. Communicators use it. Two threads must not use a Checked at once; the
// functions have no state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/communicator/call/arguments.h"
#include "collectives/communicator/call/collective.h"
#include "collectives/communicator/call/pair_sizes.h"
#include "collectives/core/block_layout.h"
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
  std::uint8_t op = 0;   // a ReduceOp, or kOwnOp
  bool commutes = true;  // the reduction is commutative
  bool in_place = false;
  bool has_parts = false;    // it is a v form
  bool knows_bytes = false;  // `bytes` has a meaning
  char algorithm[24] = {};   // its name, padded with zeros
};
static_assert(sizeof(CallRecord) == 96);
// The value of CallRecord::op for an operation of the program's own.
inline constexpr std::uint8_t kOwnOp = 0xff;

// Returns the record of this call by the rank `rank`. `arguments` and `sizes` are those of the
// call. `algorithm` and `shape` are those of its list. If the call is refused and its list is not
// known, `algorithm` is null.
CallRecord record_of(const Collective::Inside& call, const Arguments& arguments,
                     const PairSizes& sizes, int rank, const Algorithm* algorithm,
                     const Shape& shape);
// Compares the records of all ranks, which are indexed by rank. Returns a fault that names the
// first rank that differs from most of them, and both values. Returns std::nullopt if the records
// fit.
std::optional<Fault> judge(std::span<const CallRecord> records);

// Returns true if some message of the call is not expected with the size with which it is sent.
// judge() does not see that.
bool sizes_differ(std::span<const CallRecord> records);

// The exchange of records before the runs of one call (Prelude of
// collectives/executors/run/call.h). If sizes differ, the ranks exchange all sizes in a second
// prelude, so that the error can name the rank.
class Checked {
 public:
  // `plan` is the result of plan() below. `own` and `sizes` are the record and the sizes of this
  // rank, `rank` of `ranks`.
  Checked(std::shared_ptr<const Plan> plan, const CallRecord& own, PairSizes sizes, int rank,
          std::size_t ranks);
  Checked(const Checked&) = delete;
  Checked& operator=(const Checked&) = delete;

  // Returns the prelude of the next run, with this rank's record filled in. It belongs to this
  // object.
  const Prelude* prelude();
  // Returns the plan of an allgather in place by the rank `rank` of `ranks`, which all preludes of
  // a communicator use.
  static Result<std::shared_ptr<const Plan>> plan(int rank, int ranks);

 private:
  // Makes the second prelude, with the sizes that this rank knows, and returns it.
  const Prelude* tell_sizes();

  CallRecord own_;
  PairSizes own_sizes_;
  std::size_t rank_;
  std::vector<CallRecord> records_;  // by rank
  Layout layout_;
  Prelude prelude_;
  std::vector<std::uint64_t> sizes_;  // words of PairSizes, by rank
  Layout sizes_layout_;
  Prelude sizes_prelude_;
};

}  // namespace scela::collectives
