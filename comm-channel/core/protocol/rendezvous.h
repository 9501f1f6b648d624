// The rendezvous protocol: the two sides of a message that is not sent at once, each a state
// machine. Messenger uses them (comm-channel/messenger/messenger.h).
//
//   way      receiver                                  sender
//   read     RDMA read, done                           -
//   copy     copies from the sender's memory, done     -          (a node; process_vm_readv)
//   write    ready                                     RDMA write, done
//   pieces   ready                                     pieces, of which the last is the end
//
// The sender offers all ways that it supports. The receiver chooses one when the offer has met its
// receive. It takes as much as its buffer holds; if the message is truncated, only the receiver
// needs to know. If the kernel refuses a copy, the receiver asks for pieces instead.
//
// The classes do no input or output. Events come in by the functions, which return the steps to
// carry out, in that order. The owner reports when each `write`, `read`, `copy` and `revoke` is
// over.
//
// `complete` gives the buffer back to the program. It comes exactly once; after it nothing touches
// the buffer, even if a process has died. A message that makes no sense in its state counts as a
// failure or is ignored. The classes are not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "comm-channel/core/protocol/wire.h"

namespace scela::channel {

// The kind of a step that the owner must carry out.
enum class Act : std::uint8_t {
  say_offer,  // send RTS
  say_ready,  // send CTS, with `way`
  say_done,   // send FIN, with `outcome`, `bytes`
  write,      // own buffer to remote, key
  read,       // remote, key to own buffer
  copy,       // like read, from a process of the node
  pieces,     // own buffer in pieces; see piece_sent()
  revoke,     // end the peer's access to the buffer
  complete,   // the transfer is over
};

// One step. Members that an Act does not use have their default value.
struct Step {
  Act act = Act::complete;
  Outcome outcome = Outcome::none;  // set for complete, say_done
  bool truncated = false;           // set for a receiver's complete
  std::uint32_t way = 0;            // set for say_ready
  std::uint32_t key = 0;            // rkey of the peer's memory
  std::uint64_t remote = 0;         // address in the peer's memory
  std::uint64_t bytes = 0;          // bytes to move; complete: bytes taken
};

// At most two steps, in the order in which the owner must carry them out.
class Steps {
 public:
  void add(const Step& step) { steps_[count_++] = step; }
  const Step* begin() const { return steps_.data(); }
  const Step* end() const { return steps_.data() + count_; }
  bool empty() const { return count_ == 0; }

 private:
  std::array<Step, 2> steps_;
  std::size_t count_ = 0;
};

// The sender's side of one message.
class SendTransfer {
 public:
  // `length` is that of the message in bytes; `ways` are those that this side supports (bits of
  // namespace way).
  SendTransfer(std::uint64_t length, std::uint32_t ways) : length_(length), ways_(ways) {}

  // Offers the message.
  Steps start();
  // These record that CTS or FIN has come.
  Steps cts(const Cts& cts);
  Steps fin(const Fin& fin);
  // Records the end of a `write`.
  Steps written(Outcome outcome);
  // Records that `bytes` more bytes have been sent in pieces.
  Steps piece_sent(std::uint64_t bytes);
  // Ends the transfer because the next piece cannot be read: the buffer is not there.
  Steps piece_lost();
  // The peer has died. A `write` that is under way must still be reported by written().
  Steps peer_ended();

  bool complete() const { return state_ == State::complete; }
  // For a transfer in pieces: where the next piece begins, and how many bytes are left.
  std::uint64_t offset() const { return sent_; }
  std::uint64_t left() const { return state_ == State::pieces ? taken_ - sent_ : 0; }

 private:
  // `orphaned`: the peer has died during a write, which is still waited for.
  enum class State : std::uint8_t { idle, offered, writing, orphaned, pieces, complete };
  // Ends the transfer and returns the step `complete`.
  Steps finish(Outcome outcome);

  std::uint64_t length_;
  std::uint32_t ways_;
  State state_ = State::idle;
  std::uint64_t taken_ = 0;  // bytes that the receiver takes
  std::uint64_t sent_ = 0;
};

// The receiver's side of one message.
class ReceiveTransfer {
 public:
  // `rts` is the sender's offer. `room` is the size of the receive's buffer in bytes. `ways` are
  // the ways that this side supports, and `prefer` is one of them.
  ReceiveTransfer(const Rts& rts, std::uint64_t room, std::uint32_t ways, std::uint32_t prefer);

  // Chooses a way, and begins the transfer. Called once.
  Steps start();
  // Called instead of start() if the message is not received: memory cannot be registered, or no
  // receive wants it.
  Steps refuse(Outcome outcome);
  // Records the end of a `read` or `copy`.
  Steps fetched(Outcome outcome);
  // The kernel refuses to copy at all. The receiver asks for pieces if both sides support them.
  Steps copy_refused();
  // Records that a piece has come. A piece that is not the expected one ends the transfer.
  Steps piece(std::uint64_t offset, std::uint64_t bytes);
  // Ends the transfer because the piece that came cannot be written: the buffer is not there.
  Steps piece_lost();
  // Records that FIN has come, after a write or in place of pieces.
  Steps fin(const Fin& fin);
  // Records the end of a `revoke`.
  Steps revoked();
  // The peer has died. A `read` or `copy` that is under way must still be reported by fetched().
  Steps peer_ended();

  bool complete() const { return state_ == State::complete; }
  // Returns the offset in bytes at which the next piece belongs.
  std::uint64_t received() const { return received_; }

 private:
  // `orphaned`: the peer has died during a fetch, which is still waited for.
  enum class State : std::uint8_t {
    idle,
    fetching,
    orphaned,
    awaits_write,
    awaits_pieces,
    revoking,
    complete
  };
  // Asks the sender to write, or for pieces.
  Steps ask(std::uint32_t way);
  // Begins a read or a copy.
  Steps fetch(std::uint32_t way);
  // Ends the sender's access to the buffer first; revoked() then ends the transfer.
  Steps revoke(Outcome outcome);
  // Ends the transfer. `tell`: the sender waits for FIN.
  Steps finish(Outcome outcome, bool tell);

  Rts rts_;
  std::uint64_t room_;
  std::uint64_t take_;
  std::uint32_t ways_;
  std::uint32_t prefer_;
  State state_ = State::idle;
  Outcome outcome_ = Outcome::none;  // reported once writes are revoked
  std::uint64_t received_ = 0;
};

}  // namespace scela::channel
