#include "comm-channel/include/scela/status.h"

#include "common/core/text.h"

namespace scela {

const char* name_of(Code code) {
  switch (code) {
    case Code::ok:
      return "no error";
    case Code::bad_rank:
      return "no such rank";
    case Code::bad_root:
      return "no such root";
    case Code::bad_tag:
      return "not a tag";
    case Code::bad_buffer:
      return "not a valid buffer";
    case Code::bad_count:
      return "sizes that do not fit";
    case Code::bad_type:
      return "not a valid type of elements";
    case Code::bad_reducer:
      return "not a valid reduction";
    case Code::bad_argument:
      return "not a valid argument";
    case Code::bad_request:
      return "not a request that can do this";
    case Code::bad_communicator:
      return "not a communicator that can do this";
    case Code::truncated:
      return "the message is longer than the buffer";
    case Code::mismatch:
      return "the ranks have called different operations";
    case Code::peer_ended:
      return "the peer has ended";
    case Code::resources:
      return "resources are exhausted";
    case Code::device:
      return "the adapter has failed";
    case Code::timed_out:
      return "timed out";
    case Code::cancelled:
      return "it was cancelled";
    case Code::closed:
      return "the channel was closed";
    case Code::other:
      return "another error";
  }
  return "an unknown error";
}

std::string Status::message() const {
  std::string text = message_ ? *message_ : std::string(name_of(code_));
  if (rank_ >= 0 && !message_) text = cat("rank ", rank_, ": ", text);
  return text;
}

}  // namespace scela
