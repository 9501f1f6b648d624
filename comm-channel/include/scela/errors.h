// What can go wrong with a message, and with the channel: a code to decide by, and words for the
// user.
#pragma once

#include <memory>
#include <string>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela::channel {

enum class Code : unsigned char {
  none,
  truncated,   // the message was longer than the receive's buffer, which holds its first bytes
  argument,    // a rank, tag, context or buffer that cannot be: nothing was sent or received
  peer_ended,  // the rank has ended or cannot be reached; what it sent before can be received
  resources,   // memory, locked memory or descriptors are exhausted: it may be tried again
  device,      // this node's adapter or its engine has failed
  timed_out,   // of waits only: the request goes on
  cancelled,
  closed,  // the channel was closed meanwhile; of sends: the receiver's, which did not receive it
};

const char* name_of(Code code);

struct ChannelError {
  Code code = Code::none;
  int peer = -1;                             // the rank concerned; -1: none
  std::shared_ptr<const std::string> words;  // what was tried, with whom, what happened, what to do

  explicit operator bool() const { return code != Code::none; }
  std::string text() const;
};

}  // namespace scela::channel
#pragma GCC visibility pop
