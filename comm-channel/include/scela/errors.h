// The errors of messages and of the channel: a code for decisions of the program, and words for the
// user. The types are values; every part of the channel and of libscela uses them.
#pragma once

#include <memory>
#include <string>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela::channel {

enum class Code : unsigned char {
  none,
  // The message was longer than the receive's buffer, which holds its first bytes.
  truncated,
  // A rank, tag, context or buffer is not valid: nothing was sent or received.
  argument,
  // The rank has ended or cannot be reached. What it sent before can be received.
  peer_ended,
  // Memory, locked memory or descriptors are exhausted; the program may try again.
  resources,
  // This node's adapter or its engine has failed.
  device,
  // A wait reached its limit; the request goes on.
  timed_out,
  cancelled,
  // The channel was closed meanwhile. For a send: the receiver closed its channel and did not
  // receive the message.
  closed,
};

const char* name_of(Code code);

struct ChannelError {
  Code code = Code::none;
  int peer = -1;  // the rank concerned; -1: none
  // The words say what was tried, with which rank, what happened and what to do.
  std::shared_ptr<const std::string> words;

  explicit operator bool() const { return code != Code::none; }
  std::string text() const;
};

}  // namespace scela::channel
#pragma GCC visibility pop
