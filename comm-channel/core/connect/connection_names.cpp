// The names of states and failures, and the errors that users see.
#include <string>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/connect/link_state.h"

namespace scela::channel::connect {

std::string_view name_of(LinkState state) {
  constexpr std::string_view kNames[] = {"none",       "queued", "making",  "asking",
                                         "connecting", "ready",  "draining"};
  return kNames[static_cast<int>(state)];
}

std::string_view name_of(PeerState state) {
  constexpr std::string_view kNames[] = {"idle",    "waiting", "asking",
                                         "joining", "ready",   "draining"};
  return kNames[static_cast<int>(state)];
}

std::string_view name_of(XrcTargetState state) {
  constexpr std::string_view kNames[] = {"none", "making", "held", "leaving"};
  return kNames[static_cast<int>(state)];
}

std::string_view name_of(PairState state) {
  constexpr std::string_view kNames[] = {"none",      "queued", "making",   "asking", "connecting",
                                         "answering", "ready",  "draining", "closing"};
  return kNames[static_cast<int>(state)];
}

std::string_view name_of(Failure failure) {
  constexpr std::string_view kNames[] = {"ended",     "unreachable", "refused",
                                         "resources", "leaving",     "mode"};
  return kNames[static_cast<int>(failure)];
}

Failure failure_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::leaving:
      return Failure::leaving;
    case Refusal::mode:
      return Failure::mode;
    case Refusal::resources:
      return Failure::refused;
    case Refusal::none:
    case Refusal::gone:
      break;
  }
  return Failure::unreachable;
}

Error explain(Failure failure, const PeerAddress& peer) {
  Error error;
  error.what = "connect to rank " + std::to_string(peer.name.rank);
  switch (failure) {
    case Failure::ended:
      error.kind = ErrorKind::unreachable;
      error.why = "it has ended, or its node is lost";
      error.hint = "the launcher's messages say which rank or node failed first";
      break;
    case Failure::unreachable:
      error.kind = ErrorKind::unreachable;
      error.why = "it did not answer";
      error.hint =
          "is it stopped, or its node's network cut? ibv_rc_pingpong between the two tells";
      break;
    case Failure::refused:
      error.kind = ErrorKind::io;
      error.why = "its device gives no more queue pairs or memory";
      error.hint = "fewer connections: SCELA_CHANNEL_MAX_LINKS; more locked memory: ulimit -l";
      break;
    case Failure::resources:
      error.kind = ErrorKind::io;
      error.why = "this process's device gives no more queue pairs or memory";
      error.hint = "fewer connections: SCELA_CHANNEL_MAX_LINKS; more locked memory: ulimit -l";
      break;
    case Failure::leaving:
      error.kind = ErrorKind::unreachable;
      error.why = "its channel, or this one, is being closed";
      error.hint = "receive what was sent before either end closes its channel";
      break;
    case Failure::mode:
      error.kind = ErrorKind::protocol;
      error.why = "its device uses queue pairs in another way (XRC, or RC)";
      error.hint = "give all nodes the same kind of adapter (SCELA_CHANNEL_VERBS, _DEVICE)";
      break;
  }
  return error;
}

}  // namespace scela::channel::connect
