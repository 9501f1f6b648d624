// The connections by one port of the device: what comm-channel/core/connect/connection.h decides is
// carried out on queue pairs. A process that uses several ports has one of these for each
// (docs/design/channel.md, Several ports). They do not know of each other.
//
// Only one thread at a time may call it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm-channel/core/connect/connection.h"
#include "comm-channel/core/connect/give_ups.h"
#include "comm-channel/core/protocol/completion_looks.h"
#include "comm-channel/engine/device_health.h"
#include "comm-channel/net/port/network_buffers.h"
#include "comm-channel/verbs/factory.h"

namespace scela::channel {

// Requests under way on one queue pair. Above this number, messages wait.
inline constexpr std::uint32_t kPairDepth = 128;

// Objects that all ports share. They outlive the ports.
struct PortParts {
  const verbs::Device& device;
  const verbs::Pd& pd;
  const verbs::Xrcd& xrcd;
  const verbs::Srq& srq;
  const verbs::CompChannel& events;
  const verbs::Cq& sends;
  const verbs::Cq& receives;
  const CompletionLooks& looks;  // at `receives`
};

class PortLinks {
 public:
  // The job that this process takes part in.
  struct Job {
    std::uint32_t ranks = 0;
    connect::JobSecret word;
    std::size_t max_links = 0;  // of this process; 0: any number
  };
  // A queue pair of the machine. The user counts its requests in `under_way`.
  struct Pair {
    verbs::Qp qp;
    std::uint32_t first_packet = 0;          // first PSN that this end sends
    std::uint32_t under_way = 0;             // requests
    bool broken = false;                     // in the error state
    std::optional<connect::UdAddress> peer;  // connected to it, and may receive
    bool last_told = false;                  // its last receive is complete
    connect::Time closed{};                  // when close() added it to dying_
    // Marks when all that it has received was in the completion queue.
    std::optional<CompletionLooks::Mark> complete;
  };
  class User {
   public:
    // The port is about to send a datagram to the peer, which may then send messages at once.
    virtual void addressed(std::size_t port, connect::PeerId peer) = 0;
    // These have the meaning of the actions in connect::action.
    virtual void drain(std::size_t port, connect::PeerId peer) = 0;
    virtual void posted_is_lost(std::size_t port, connect::PeerId peer) = 0;
    virtual void not_connected(std::size_t port, connect::PeerId peer, connect::Failure why) = 0;
    // The peer lives, and has given up this process.
    virtual void gave_up(std::size_t port, connect::PeerId peer) = 0;
    // The port can neither send nor receive datagrams any more.
    virtual void failed(std::size_t port, const std::string& why) = 0;
    // The numbers of counts() may have changed.
    virtual void changed() = 0;
    virtual connect::Time now() const = 0;

   protected:
    ~User() = default;
  };

  // `index` is that among the active ports. The parts and `user` must outlive this object.
  PortLinks(const PortParts& parts, std::size_t index, User& user)
      : parts_(parts), index_(index), user_(user) {}
  PortLinks(const PortLinks&) = delete;
  PortLinks& operator=(const PortLinks&) = delete;

  // `self` is complete except for the address, which is taken from the port.
  Result<void> make(const connect::PeerAddress& self, const Job& job);
  const connect::PeerAddress& address() const { return self_; }
  const connect::PeerTable& peers() const { return machine_->peers(); }
  // Machine::add() and Machine::route() (comm-channel/core/connect/connection.h) have the
  // contracts.
  connect::PeerId add(const connect::PeerAddress& address) { return machine_->add(address); }
  connect::Route route(connect::PeerId peer) { return machine_->route(peer); }
  // Returns null if the queue pair does not exist any more.
  Pair* pair(connect::QpId qp) const { return qp < pairs_.size() ? pairs_[qp].get() : nullptr; }
  connect::Counts counts() const { return machine_->counts(); }
  // Returns the number of queue pairs that are closed but not destroyed yet.
  std::size_t dying() const { return dying_.size(); }
  std::uint64_t registered() const { return out_->registered() + in_->registered(); }

  // Gives the machine an event, and carries out its actions.
  void tell(const connect::Event& event);
  // Returns how many datagrams came or were sent, and carries out what is due.
  unsigned poll();
  // Returns when poll() must be called at the latest, or std::nullopt if nothing is due.
  std::optional<connect::Time> next_wake() const;
  // Returns false if the completion queue cannot be armed.
  bool arm() { return ::ibv_req_notify_cq(datagram_cq_.get(), 0) == 0; }
  // Tells a peer that lives that this process has given it up.
  void give_up(connect::PeerId peer);
  // Returns what the device said when it last failed to make or connect a queue pair.
  const std::string& why_no_pair() const { return why_no_pair_; }
  // Destroys all pairs at once with their requests under way: the device is not used any more.
  void abandon();
  // Destroys each closed pair once it has no request under way and all messages that came by it
  // were received.
  void bury();
  // Returns whether messages may still come by a closed pair; the second form asks for one peer.
  bool is_receiving() const {
    return std::ranges::any_of(dying_, [this](const auto& one) { return !is_received(*one); });
  }
  bool is_receiving(connect::PeerId peer) const {
    return is_receiving(peers().address(peer).address);
  }
  // Notes that the device has reported the last receive of the pair, closed or not, as complete
  // (IBV_EVENT_QP_LAST_WQE_REACHED).
  void last_reached(const ibv_qp* qp);
  // After event::Leave: returns whether nothing is left and the last datagrams were sent.
  bool left() const { return left_ && ways_.empty() && give_ups_.settled(); }
  // Returns whether there has ever been a connection.
  bool used() const { return used_; }

 private:
  // Returns whether no message can come by the pair any more.
  bool is_received(const Pair& pair) const;
  bool is_receiving(const connect::UdAddress& from) const;
  // Connects the pairs of `late_` for which no earlier pair is in the way any more.
  void connect_late();
  // Returns true with RC: then each rank has queue pairs of its own.
  bool by_rank() const { return parts_.device.capability.mode == verbs::Mode::rc; }
  const verbs::Port& port() const { return parts_.device.capability.ports[index_]; }
  // Returns the options of the machine, as the device and the job make them.
  Result<connect::Options> options() const;
  // Returns how many RDMA reads at a time a queue pair of this device answers.
  std::uint8_t reads() const;
  // Posts a buffer for a datagram. post_those_left() posts those that could not be posted before.
  Result<void> post(std::byte* buffer);
  void post_those_left();
  // Hands a datagram to GiveUps or to the machine.
  void hear(const std::string& bytes);
  // Sends a datagram, or drops it if that is not possible now: its sender repeats it.
  void say(const connect::UdAddress& to, const std::string& bytes);
  void say_give_ups();
  // The device has refused something. Reports the port as failed if that goes on for too long.
  void judge_device(DeviceHealth& trouble, const char* what, const Error& error);
  // carry_out() carries out the queued actions in their order. The functions after it carry out one
  // action each (comm-channel/core/connect/connection_events.h).
  void carry_out();
  void carry_out(const connect::Action& action);
  void send(const connect::action::SendDatagram& action);
  void create(const connect::action::CreateSendQp& action);
  void connect_qp(const connect::action::ConnectQp& action);
  void create(const connect::action::CreateReceiveQp& action);
  void open(const connect::action::OpenReceiveQp& action);
  void close(connect::QpId id);
  // Answers an action that makes a queue pair with QpMade or QpFailed. `ready` is the result of the
  // steps after its creation. `gone` is for QpFailed.
  void made(connect::QpId id, Result<verbs::Qp> qp, std::uint32_t psn, const Result<void>& ready,
            bool gone = false);

  const PortParts parts_;
  const std::size_t index_;
  User& user_;
  verbs::Cq datagram_cq_;
  verbs::Qp datagrams_;
  Job job_;
  std::optional<Buffers> out_, in_;
  std::vector<std::pair<std::byte*, verbs::Ah>> ways_;  // of datagrams under way
  connect::PeerAddress self_;
  std::optional<connect::Machine> machine_;
  connect::GiveUps give_ups_;
  std::vector<std::byte*> unposted_;  // datagram buffers not posted yet
  DeviceHealth saying_, hearing_;
  std::string why_no_pair_;
  std::vector<std::unique_ptr<Pair>> pairs_;  // by QpId
  std::vector<std::unique_ptr<Pair>> dying_;  // closed; see bury()
  std::deque<connect::Action> actions_;
  std::vector<connect::action::ConnectQp> late_;  // wait for what an earlier pair has
  bool carrying_out_ = false;
  bool left_ = false, used_ = false;
};

}  // namespace scela::channel
