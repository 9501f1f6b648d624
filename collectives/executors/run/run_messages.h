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
#include "collectives/executors/run/run_failure.h"
#include "collectives/executors/run/transport.h"

namespace scela::collectives {

class RunMessages {
 public:
  // The call says what the messages are, and its buffers have their bytes. The first fault of a
  // message is recorded in `failure`.
  RunMessages(BoundCall& call, RunFailure& failure) : call_(call), failure_(failure) {}

  // Reserves the memory for the messages of a plan. Throws std::bad_alloc.
  void reserve(const Plan& plan);
  // Says that a run begins. The transport must outlive the run's messages.
  void begin(Transport& transport) {
    transport_ = &transport;
    begin_list();
  }
  // Says that a list begins: the call's or a prelude's. No message of another is under way.
  void begin_list() { slots_used_ = 0; }

  // send() and receive() begin a step's message.
  void send(const Plan::Step& step);
  void receive(const Plan::Step& step);
  // Completes a message that is over. Otherwise waits_for() returns its ticket, and the result is
  // false. A fault, a note or an unexpected length is recorded as the run's fault.
  bool complete_if_over(std::uint32_t message);
  // Completes a message that has ended so.
  void complete(std::uint32_t message, const Outcome& outcome);
  // Returns the message that was not over when it was tested last.
  Transport::Ticket waits_for() const { return waits_for_; }

  // For a short run: each message has its bytes in one piece, and no fault is recorded.
  // send_piece() begins a message. The others return false if the message is not over, or not as
  // expected; `outcome` is then set.
  void send_piece(std::uint32_t message, int peer, std::span<const std::byte> bytes);
  bool is_sent(std::uint32_t message, Outcome& outcome);
  bool receive_piece(std::uint32_t message, int peer, std::span<std::byte> bytes, Outcome& outcome);
  // Marks a receive as over that has not begun or that receive_piece() has completed.
  void set_over(std::uint32_t message) { flights_[message].ticket = Transport::kGone; }

  // Cancels the messages that are marked in `under_way`, by message.
  void cancel(const std::vector<bool>& under_way);
  // Withdraws those that are receives, and awaits all of them (is_drained).
  void withdraw(const std::vector<bool>& under_way);
  // Sends the message of a step, and awaits it (is_drained).
  void send_and_await(const Plan::Step& step);
  // Returns true if all awaited messages are over. What they bring is thrown away. Otherwise
  // waits_for() returns one.
  bool is_drained();
  // Cancels the messages that are awaited and not over.
  void cancel_awaited();

 private:
  // Room for a note, or for any message as short as a note.
  using Slot = std::array<std::byte, 32>;
  static_assert(sizeof(Slot) >= FailureNote::kRoom);
  struct Flight {
    Transport::Ticket ticket = 0;
    std::byte* landing = nullptr;  // where a receive's bytes arrive
    std::uint64_t bytes = 0;       // of the message
    bool unpack = false;           // the bytes are moved on from there
  };

  // Moves a received message of `bytes` bytes to its place.
  void complete_receive(const Plan::Step& step, const Flight& flight, std::uint64_t bytes);
  // Records a fault of this step.
  void record(const Plan::Step& step, Fault fault);

  BoundCall& call_;
  RunFailure& failure_;
  Transport* transport_ = nullptr;
  std::vector<Flight> flights_;   // by message
  std::vector<Slot> slots_;       // one for each receive
  std::uint32_t slots_used_ = 0;  // by this list
  std::vector<std::uint32_t> awaited_;
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
