// How a message that is not sent at once moves: the two sides of one transfer, each a state
// machine.
//
//   way      receiver                                  sender
//   read     RDMA read, done                           -
//   copy     copies from the sender's memory, done     -          (a node; process_vm_readv)
//   write    ready                                     RDMA write, done
//   pieces   ready                                     pieces, of which the last is the end
//
// The sender offers in all ways that it can; the receiver, once the offer has met its receive,
// chooses. It takes what its buffer holds: the message is then truncated, which only it need know.
// Where the kernel refuses a copy, the receiver asks for pieces instead.
//
// Pure: what happens comes in by the functions, which return what is to be done, in that order; the
// owner tells of each `write`, `read`, `copy` and `revoke` when it is over. A buffer is the
// program's again with `complete`, which comes exactly once, and after which nothing touches it,
// whoever died meanwhile. Messages that make no sense where they come are taken for a failure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "comm-channel/core/wire.h"

namespace scela::channel {

enum class Act : std::uint8_t {
  say_offer,
  say_ready,
  say_done,
  write,   // bytes of the own buffer to remote, key
  read,    // bytes from remote, key to the own buffer
  copy,    // the same, from a process of the node
  pieces,  // bytes of the own buffer, as pieces; see piece_sent()
  revoke,  // the other's writes must not reach the buffer any more
  complete,
};

struct Step {
  Act act = Act::complete;
  Outcome outcome = Outcome::none;  // complete, say_done
  bool truncated = false;           // complete, of a receiver
  std::uint32_t way = 0;            // say_ready
  std::uint32_t key = 0;
  std::uint64_t remote = 0;
  std::uint64_t bytes = 0;  // that move; complete: that were taken
};

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

class SendTransfer {
 public:
  SendTransfer(std::uint64_t length, std::uint32_t ways) : length_(length), ways_(ways) {}

  Steps start();
  Steps ready(const Ready& ready);
  Steps done(const Done& done);
  Steps written(Outcome outcome);
  // So many bytes more have been sent in pieces.
  Steps piece_sent(std::uint64_t bytes);
  // The next piece cannot be read: the buffer is not there.
  Steps piece_lost();
  Steps peer_ended();

  bool complete() const { return state_ == State::complete; }
  // Of what goes in pieces: where the next begins, and how much is left.
  std::uint64_t offset() const { return sent_; }
  std::uint64_t left() const { return state_ == State::pieces ? taken_ - sent_ : 0; }

 private:
  enum class State : std::uint8_t { idle, offered, writing, orphaned, pieces, complete };
  Steps finish(Outcome outcome);

  std::uint64_t length_;
  std::uint32_t ways_;
  State state_ = State::idle;
  std::uint64_t taken_ = 0;  // that the receiver takes
  std::uint64_t sent_ = 0;
};

class ReceiveTransfer {
 public:
  // `room`: of the receive. `ways`: those that this side can, and `prefer` one of them.
  ReceiveTransfer(const Offer& offer, std::uint64_t room, std::uint32_t ways, std::uint32_t prefer);

  Steps start();
  // Instead: the message is not received (memory cannot be registered, or nobody wants it).
  Steps refuse(Outcome outcome);
  // Of `read` and `copy`.
  Steps fetched(Outcome outcome);
  // The copy cannot be made at all: the kernel refuses it.
  Steps copy_refused();
  Steps piece(std::uint64_t offset, std::uint64_t bytes);
  // The piece that came cannot be written: the buffer is not there.
  Steps piece_lost();
  Steps done(const Done& done);
  Steps revoked();
  Steps peer_ended();

  bool complete() const { return state_ == State::complete; }
  // Where the bytes of the next piece belong; whether so many fit.
  std::uint64_t received() const { return received_; }

 private:
  enum class State : std::uint8_t {
    idle,
    fetching,
    orphaned,
    awaits_write,
    awaits_pieces,
    revoking,
    complete
  };
  Steps ask(std::uint32_t way);
  Steps fetch(std::uint32_t way);
  Steps revoke(Outcome outcome);
  Steps finish(Outcome outcome, bool tell);

  Offer offer_;
  std::uint64_t room_;
  std::uint64_t take_;
  std::uint32_t ways_;
  std::uint32_t prefer_;
  State state_ = State::idle;
  Outcome outcome_ = Outcome::none;  // once writes are revoked
  std::uint64_t received_ = 0;
};

}  // namespace scela::channel
