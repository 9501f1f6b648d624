#include "comm-channel/include/scela/errors.h"

#include "common/core/text.h"

namespace scela::channel {

const char* name_of(Code code) {
  switch (code) {
    case Code::none:
      return "no error";
    case Code::truncated:
      return "the message is longer than the buffer";
    case Code::argument:
      return "an argument that cannot be";
    case Code::peer_ended:
      return "the peer has ended";
    case Code::resources:
      return "resources are exhausted";
    case Code::device:
      return "the adapter has failed";
    case Code::timed_out:
      return "the time is over";
    case Code::cancelled:
      return "it was cancelled";
    case Code::closed:
      return "the channel was closed";
  }
  return "an unknown error";
}

std::string ChannelError::text() const {
  std::string text = words ? *words : std::string(name_of(code));
  if (peer >= 0 && !words) text = cat("rank ", peer, ": ", text);
  return text;
}

}  // namespace scela::channel
