// The result of a call of libscela: a code for the program's decisions, and a message for its user.
//
//   const scela::Status status = channel.send(1, 7, bytes);
//   if (!status.ok()) report(status.message());
//   if (status.code() == scela::Code::peer_ended) go_on_without(status.rank());
//
// A Status is a value. Any thread may copy or read one that no other thread writes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela {

namespace channel {
struct StatusWriter;
}

// The kind of a result.
enum class Code : unsigned char {
  ok,

  // An argument is wrong; the code names the first one. This rank sent and received nothing.
  bad_rank,     // the rank of a peer
  bad_root,     // the root of a collective operation
  bad_tag,      // a tag below 0
  bad_buffer,   // a null address with bytes, or buffers that overlap
  bad_count,    // sizes or parts that do not fit each other, or exceed 2^63 - 1 bytes
  bad_type,     // the type or the size of elements
  bad_reducer,  // a reduction that does not suit the type, or an empty function
  // Another argument: an option, a setting, an algorithm, ranks of a subgroup.
  bad_argument,
  // A request that cannot do what was asked: it is empty, not persistent, under way, or was not
  // started; or a probed message that was received already, or is one of another channel.
  bad_request,
  // The communicator is empty or was freed.
  bad_communicator,

  // The message was longer than the receive's buffer, which holds its first bytes.
  truncated,
  // The ranks have called different operations or sizes, or one has freed a communicator that
  // others go on with.
  mismatch,
  // The rank has ended or cannot be reached. What it sent before can be received.
  peer_ended,
  // Memory, locked memory or descriptors are exhausted; the program may try again.
  resources,
  // This node's adapter or its engine has failed.
  device,
  // A wait reached its timeout, and the request goes on. After recv() nothing was received.
  timed_out,
  // Request::cancel() has ended the receive.
  cancelled,
  // The channel was closed, or belongs to the parent of this process (fork). A send ends so if the
  // receiver closed its channel and did not receive the message; peer_ended may be reported
  // instead.
  closed,
  // The error is none of the above; the message says what happened.
  other,
};

// Returns a short description, for example "the peer has ended". The text is valid for ever.
//
//   std::puts(scela::name_of(status.code()));
const char* name_of(Code code);

// The result of one call. The compiler warns if a program drops it.
class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  // These are for the program's own PointToPoint (scela/point_to_point.h). The message says what
  // was tried, with which rank, what happened and what to do. `rank` is -1 if the error concerns no
  // rank. Without a message, message() returns the description of the code.
  Status(Code code, int rank, std::string message)
      : rank_(rank),
        code_(code),
        message_(std::make_shared<const std::string>(std::move(message))) {}
  Status(Code code, int rank) : rank_(rank), code_(code) {}

  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  // Returns the rank that the error concerns, or -1. It is a rank of the communicator for
  // collective operations and for messages of a communicator, otherwise of the channel.
  int rank() const { return rank_; }
  // Returns the text for the user, without a newline. It is "no error" for Code::ok.
  std::string message() const;

  // These describe the message of a receive or a probe that is ok or truncated: the sender's rank,
  // the tag, and the length in bytes, even if the message was truncated. They are -1, -1 and 0 for
  // all other calls. The rank is one of the communicator for its messages.
  //
  //   if (status.ok()) use(status.source(), status.tag(), status.bytes());
  int source() const { return source_; }
  int tag() const { return tag_; }
  std::size_t bytes() const { return bytes_; }

 private:
  friend struct channel::StatusWriter;
  int source_ = -1;
  int tag_ = -1;
  std::size_t bytes_ = 0;
  int rank_ = -1;
  Code code_ = Code::ok;
  std::shared_ptr<const std::string> message_;  // null: that of the code
};

}  // namespace scela
#pragma GCC visibility pop
