// The RunMessages of a run are the messages that its list sends and receives: the ticket of each,
// and where its bytes are until they are moved to their blocks. After a fault, each message that is
// sent is a note, and what is received is thrown away. A Run and its FastPath use them, one thread
// at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "collectives/executors/run/bound_call.h"
#include "collectives/executors/run/message_transport.h"
#include "collectives/executors/run/run_failure.h"

namespace scela::collectives {

class RunMessages {
 public:
  // The arguments are parts of the same run and outlive this object. `call` says what the messages
  // are, and its buffers have their bytes. The first fault of a message is recorded in `failure`.
  RunMessages(BoundCall& call, RunFailure& failure) : call_(call), failure_(failure) {}

  // Reserves the memory for the messages of a plan, for all its runs. Throws std::bad_alloc.
  void reserve(const Plan& plan);
  // Begins a run: its messages go by this transport, which must outlive them.
  void begin(Transport& transport) {
    transport_ = &transport;
    begin_list();
  }
  // Begins a list, the call's or a prelude's. No message of an earlier list may be under way.
  void begin_list() { slots_used_ = 0; }

  // Begin the message of a step of kind send or receive. If the run has failed, send() sends a
  // note, and receive() receives into memory that is thrown away.
  void send(const Plan::Step& step);
  void receive(const Plan::Step& step);
  // Tests a message, given by its number in the plan. If it is over, completes it and returns true.
  // Otherwise returns false, and waits_for() is its ticket. A fault, a note or an unexpected length
  // is recorded as the run's fault; the message is over then.
  bool complete_if_over(std::uint32_t message);
  // Completes a message that is over with this outcome: moves received bytes to their blocks, or
  // records a fault.
  void complete(std::uint32_t message, const Outcome& outcome);
  // Returns the ticket of the message that was not over when it was tested last.
  Transport::Ticket waits_for() const { return waits_for_; }

  // The three functions are for a short run, in which each message has its bytes in one piece. They
  // record no fault. `message` is its number in the plan, and `peer` the rank in the list.
  //
  // Begins to send these bytes.
  void send_piece(std::uint32_t message, int peer, std::span<const std::byte> bytes);
  // Returns true if the send is over and went well. Otherwise returns false and sets `outcome`.
  bool is_sent(std::uint32_t message, Outcome& outcome);
  // Receives a message, and blocks briefly (Transport::take). Returns true if it has come with the
  // expected length. Otherwise returns false and sets `outcome`; if that is not over, the message
  // has not come.
  bool receive_piece(std::uint32_t message, int peer, std::span<std::byte> bytes, Outcome& outcome);
  // Marks a receive that has not begun, or that receive_piece() has completed, as over.
  void set_over(std::uint32_t message) { flights_[message].ticket = Transport::kGone; }

  // Cancels the messages for which `under_way`, indexed by message, is true. They touch no buffer
  // any more on return.
  void cancel(const std::vector<bool>& under_way);
  // Withdraws those messages that are receives (Transport::withdraw), and awaits all of them:
  // is_drained() says when they are over.
  void withdraw(const std::vector<bool>& under_way);
  // Sends the message of a step, a note if the run has failed, and awaits it likewise.
  void send_and_await(const Plan::Step& step);
  // Returns true if all awaited messages are over. Received bytes are thrown away. Otherwise
  // waits_for() returns the ticket of one that is not.
  bool is_drained();
  // Cancels the awaited messages that are not over.
  void cancel_awaited();

 private:
  // Room for a note, or for any message as short as a note.
  using Slot = std::array<std::byte, 32>;
  static_assert(sizeof(Slot) >= FailureNote::kRoom);
  // The state of a message that was begun.
  struct Flight {
    Transport::Ticket ticket = 0;
    std::byte* landing = nullptr;  // address that a receive writes to
    std::uint64_t bytes = 0;       // of the message
    bool unpack = false;           // bytes are copied from there to blocks
  };

  // Moves a received message of `bytes` bytes to its blocks. If the length is not the expected one,
  // records a fault.
  void complete_receive(const Plan::Step& step, const Flight& flight, std::uint64_t bytes);
  // Records a fault of this step as the run's, unless it has one.
  void record(const Plan::Step& step, Fault fault);

  BoundCall& call_;
  RunFailure& failure_;
  Transport* transport_ = nullptr;
  std::vector<Flight> flights_;         // by number of the message
  std::vector<Slot> slots_;             // one for each receive
  std::uint32_t slots_used_ = 0;        // by this list
  std::vector<std::uint32_t> awaited_;  // numbers of messages; is_drained()
  Transport::Ticket waits_for_ = 0;
};

inline void RunMessages::send_piece(std::uint32_t message, int peer,
                                    std::span<const std::byte> bytes) {
  Flight& flight = flights_[message];
  flight.bytes = bytes.size();
  flight.ticket = transport_->send(call_.peer_of(peer), call_.call().route, bytes);
}

inline bool RunMessages::is_sent(std::uint32_t message, Outcome& outcome) {
  const Transport::Ticket ticket = flights_[message].ticket;
  if (ticket == Transport::kGone) return true;
  Outcome tested = transport_->test(ticket);
  if (tested.over && !tested.fault) return true;
  outcome = std::move(tested);
  return false;
}

inline bool RunMessages::receive_piece(std::uint32_t message, int peer, std::span<std::byte> bytes,
                                       Outcome& outcome) {
  Flight& flight = flights_[message];
  flight.bytes = bytes.size();
  flight.unpack = bytes.size() <= FailureNote::kBytes;
  flight.landing = flight.unpack ? slots_.front().data() : bytes.data();
  const std::size_t room = flight.unpack ? sizeof(Slot) : bytes.size();
  Outcome received =
      transport_->take(call_.peer_of(peer), call_.call().route, {flight.landing, room});
  if (received.over && received.bytes == bytes.size() && !received.fault) {
    if (flight.unpack && !bytes.empty()) std::memcpy(bytes.data(), flight.landing, bytes.size());
    return true;
  }
  outcome = std::move(received);
  return false;
}

}  // namespace scela::collectives
