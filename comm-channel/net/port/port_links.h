// The connections by one port of the device: what comm-channel/core/connect/connection_machine.h
// decides is carried out on queue pairs (port_pairs.h) and with datagrams (port_datagrams.h). A
// process that uses several ports has one of these for each (docs/design/channel.md, Several
// ports). They do not know of each other.
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "comm-channel/core/connect/connection_machine.h"
#include "comm-channel/core/connect/give_ups.h"
#include "comm-channel/net/port/port_datagrams.h"
#include "comm-channel/net/port/port_pairs.h"
#include "comm-channel/net/port/port_parts.h"
#include "common/core/result.h"

namespace scela::channel {

class PortLinks {
 public:
  // The job that this process takes part in.
  struct Job {
    std::uint32_t ranks = 0;
    connect::JobSecret word;    // all ranks have the same
    std::size_t max_links = 0;  // of this process; 0: any number
  };

  // `index` is that among the active ports. The parts and `user` must outlive this object.
  PortLinks(const PortParts& parts, std::size_t index, PortUser& user)
      : parts_(parts),
        index_(index),
        user_(user),
        datagrams_(parts, index, user),
        pairs_(parts, index) {}
  PortLinks(const PortLinks&) = delete;
  PortLinks& operator=(const PortLinks&) = delete;

  // Makes the queue pair of datagrams and the machine; the other functions may be called once it
  // has succeeded. `self` is complete except for the address, which is taken from the port.
  Result<void> make(const connect::PeerAddress& self, const Job& job);
  const connect::PeerAddress& address() const { return self_; }
  const connect::PeerTable& peers() const { return machine_->peers(); }
  // Machine::add() and Machine::route() (comm-channel/core/connect/connection_machine.h) have the
  // contracts.
  connect::PeerId add(const connect::PeerAddress& address) { return machine_->add(address); }
  connect::Route route(connect::PeerId peer) { return machine_->route(peer); }
  connect::Counts counts() const { return machine_->counts(); }
  PortPairs& pairs() { return pairs_; }
  const PortPairs& pairs() const { return pairs_; }
  // Returns the registered bytes of the datagrams' buffers.
  std::uint64_t registered() const { return datagrams_.registered(); }

  // Gives the machine an event, and carries out its actions.
  void tell(const connect::Event& event);
  // Returns how many datagrams came or were sent, and carries out what is due.
  unsigned poll();
  // Returns when poll() must be called at the latest, or std::nullopt if nothing is due.
  std::optional<connect::Time> next_wake() const;
  // Asks for an event at the next datagram. Returns false if the completion queue cannot be armed.
  bool arm() { return datagrams_.arm(); }
  // Tells a peer that lives that this process has given it up.
  void give_up(connect::PeerId peer);
  // Returns whether messages of the peer may still come by a closed queue pair.
  bool is_receiving(connect::PeerId peer) const {
    return pairs_.is_receiving(peers().address(peer).address);
  }
  // After event::Leave: returns whether nothing is left and the last datagrams were sent.
  bool left() const { return left_ && datagrams_.all_sent() && give_ups_.settled(); }

 private:
  const verbs::Port& port() const { return parts_.device.capability.ports[index_]; }
  // Returns the options of the machine, as the device and the job make them.
  Result<connect::Options> options(const Job& job) const;
  // Hands a datagram that came to GiveUps or to the machine.
  void receive(const std::string& bytes);
  // Sends the datagrams that GiveUps wants to send now.
  void send_give_ups();
  // Carries out the queued actions in their order, and one action
  // (comm-channel/core/connect/connection_events.h).
  void carry_out();
  void carry_out(const connect::Action& action);

  const PortParts parts_;
  const std::size_t index_;
  PortUser& user_;
  PortDatagrams datagrams_;
  PortPairs pairs_;
  connect::PeerAddress self_;
  std::optional<connect::Machine> machine_;
  connect::GiveUps give_ups_;
  std::deque<connect::Action> actions_;  // not carried out yet
  bool carrying_out_ = false;            // carry_out() is on the stack
  bool left_ = false;                    // the machine has answered Leave
};

}  // namespace scela::channel
