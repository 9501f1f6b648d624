#include "collectives/executors/run/message_transport.h"

#include "comm-channel/include/scela/status.h"
#include "common/core/text.h"

namespace scela::collectives {

std::string_view name_of(FaultCode code) {
  switch (code) {
    case FaultCode::peer_ended:
      return "the rank has ended";
    case FaultCode::resources:
      return "resources are exhausted";
    case FaultCode::mismatch:
      return "its call differs from those of other ranks";
    case FaultCode::cancelled:
      return "it was cancelled";
    case FaultCode::other:
      return "messages have failed";
  }
  return "it has failed";
}

FaultCode fault_code_of(Code code) {
  switch (code) {
    case Code::peer_ended:
      return FaultCode::peer_ended;
    case Code::resources:
      return FaultCode::resources;
    case Code::cancelled:
      return FaultCode::cancelled;
    default:
      return FaultCode::other;
  }
}

Fault fault_of(const AbortedContext& what, int rank) {
  if (what.refusal == Refusal::none)
    return {FaultCode::peer_ended, rank, cat("rank ", rank, " has ended")};
  if (what.refusal == Refusal::freed)
    return {FaultCode::mismatch, rank,
            cat("rank ", rank, ": ", reason_of(what.refusal),
                ", and others go on with it: nothing more can be done with it; all ranks must call "
                "the same operations before they free it"),
            what.refusal};
  if (what.refusal == Refusal::memory)
    return {FaultCode::resources, rank,
            cat("rank ", rank, ": ", reason_of(what.refusal),
                ": nothing more can be done with this communicator on any rank; shrink() gives "
                "another once there is memory again"),
            what.refusal};
  return {FaultCode::mismatch, rank,
          cat("rank ", rank, ": ", reason_of(what.refusal),
              "; the others do not know what it would have sent, so that nothing more can be done "
              "with this communicator: shrink() gives another"),
          what.refusal};
}

std::string reason_of(Refusal refusal) {
  const bool was_refused =
      refusal != Refusal::freed && refusal != Refusal::memory && refusal != Refusal::other;
  return cat(was_refused ? "its call was refused: " : "", words_of(refusal));
}

std::string_view words_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::none:
      return "";
    case Refusal::root:
      return "its root is out of range";
    case Refusal::buffer:
      return "its buffer is null";
    case Refusal::overlap:
      return "its buffers overlap";
    case Refusal::sizes:
      return "its buffer sizes do not match";
    case Refusal::parts:
      return "its parts do not fit its buffers";
    case Refusal::elements:
      return "its element types do not match";
    case Refusal::in_place:
      return "it cannot be in place";
    case Refusal::reduction:
      return "its reduction does not support the element type";
    case Refusal::algorithm:
      return "its algorithm cannot be used";
    case Refusal::freed:
      return "it has freed this communicator";
    case Refusal::memory:
      return "it ran out of memory for an operation";
    case Refusal::other:
      return "its call differs from those of other ranks";
  }
  return "invalid call";
}

}  // namespace scela::collectives
