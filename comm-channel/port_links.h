// The connections by one port of the device: what core/connection.h decides is carried out on
// queue pairs. Who speaks by several ports has one of these for each (docs/channel.md, Several
// ports); they know nothing of each other.
//
// Not for two threads at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm-channel/core/completion_looks.h"
#include "comm-channel/core/connection.h"
#include "comm-channel/core/give_ups.h"
#include "comm-channel/network_buffers.h"
#include "comm-channel/trouble.h"
#include "comm-channel/verbs/factory.h"

namespace scela::channel {

// Requests under way on a queue pair: beyond, messages wait.
inline constexpr std::uint32_t kPairDepth = 128;

// What all ports have in common, and is there for longer than they.
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
  // Whom it speaks with.
  struct Job {
    std::uint32_t ranks = 0;
    connect::Watchword word;
    std::size_t most_links = 0;  // of this process; 0: any number
  };
  struct Pair {
    verbs::Qp qp;
    std::uint32_t first_packet = 0;
    std::uint32_t under_way = 0;
    bool broken = false;
    std::optional<connect::UdAddress> peer;  // it is connected to, and may receive from
    bool last_told = false;  // the device has told that its last receive is complete
    connect::Time closed{};  // when close() put it among the dying
    // When all that it has received was in the completion queue.
    std::optional<CompletionLooks::Mark> complete;
  };
  class User {
   public:
    // Something is to be said to it: then it may send at once.
    virtual void addressed(std::size_t port, connect::PeerId peer) = 0;
    // As connect::action has them.
    virtual void drain(std::size_t port, connect::PeerId peer) = 0;
    virtual void posted_is_lost(std::size_t port, connect::PeerId peer) = 0;
    virtual void not_connected(std::size_t port, connect::PeerId peer, connect::Failure why) = 0;
    // The peer lives, and has given this process up.
    virtual void gave_up(std::size_t port, connect::PeerId peer) = 0;
    // Nothing can be said by it any more, or heard.
    virtual void failed(std::size_t port, const std::string& why) = 0;
    // counts() may be others.
    virtual void changed() = 0;
    virtual connect::Time now() const = 0;

   protected:
    ~User() = default;
  };

  // `index`: of the active ports. What it is made of and `user` outlive it.
  PortLinks(const PortParts& parts, std::size_t index, User& user)
      : parts_(parts), index_(index), user_(user) {}
  PortLinks(const PortLinks&) = delete;
  PortLinks& operator=(const PortLinks&) = delete;

  // `self`: but for the address, which is the port's.
  Result<void> make(const connect::Card& self, const Job& job);
  const connect::Card& card() const { return self_; }
  const connect::PeerTable& peers() const { return machine_->peers(); }
  connect::PeerId add(const connect::Card& card) { return machine_->add(card); }
  connect::Route route(connect::PeerId peer) { return machine_->route(peer); }
  // None: there is none any more.
  Pair* pair(connect::QpId qp) const { return qp < pairs_.size() ? pairs_[qp].get() : nullptr; }
  connect::Counts counts() const { return machine_->counts(); }
  // Queue pairs that are closed and not destroyed yet.
  std::size_t dying() const { return dying_.size(); }
  std::uint64_t registered() const { return out_->registered() + in_->registered(); }

  void tell(const connect::Event& event);
  // How many datagrams came, or are sent; and what is due.
  unsigned poll();
  std::optional<connect::Time> next_wake() const;
  // False: it cannot be.
  bool arm() { return ::ibv_req_notify_cq(datagram_cq_.get(), 0) == 0; }
  // Tells a peer that lives that this process has given it up.
  void give_up(connect::PeerId peer);
  // What the device said when a queue pair could not be made or connected the last time.
  const std::string& why_no_pair() const { return why_no_pair_; }
  // Destroys all pairs at once, with what is under way on them: the device is not used any more.
  void abandon();
  // Destroys the pairs that are closed, once nothing is under way on them and all that has come by
  // them was received.
  void bury();
  // Whether messages may still come by a pair that is closed; and from that peer.
  bool is_receiving() const {
    return std::ranges::any_of(dying_, [this](const auto& one) { return !is_received(*one); });
  }
  bool is_receiving(connect::PeerId peer) const { return is_receiving(peers().card(peer).address); }
  // The device has told that the last receive of that pair, closed or not, is complete
  // (IBV_EVENT_QP_LAST_WQE_REACHED).
  void last_reached(const ibv_qp* qp);
  // After event::Leave: nothing is left, and its last words have gone.
  bool left() const { return left_ && ways_.empty() && give_ups_.settled(); }
  // Whether there has ever been a connection.
  bool used() const { return used_; }

 private:
  bool is_received(const Pair& pair) const;
  bool is_receiving(const connect::UdAddress& from) const;
  void connect_late();
  bool by_rank() const { return parts_.device.capability.mode == verbs::Mode::rc; }
  const verbs::Port& port() const { return parts_.device.capability.ports[index_]; }
  Result<connect::Options> options() const;
  std::uint8_t reads() const;
  Result<void> post(std::byte* buffer);
  void post_those_left();
  void hear(const std::string& bytes);
  void say(const connect::UdAddress& to, const std::string& bytes);
  void say_give_ups();
  void in_trouble(Trouble& trouble, const char* what, const Error& error);
  void carry_out();
  void carry_out(const connect::Action& action);
  void send(const connect::action::SendDatagram& action);
  void create(const connect::action::CreateSendQp& action);
  void connect_qp(const connect::action::ConnectQp& action);
  void create(const connect::action::CreateReceiveQp& action);
  void open(const connect::action::OpenReceiveQp& action);
  void close(connect::QpId id);
  void made(connect::QpId id, Result<verbs::Qp> qp, std::uint32_t psn, const Result<void>& ready,
            bool gone = false);

  const PortParts parts_;
  const std::size_t index_;
  User& user_;
  verbs::Cq datagram_cq_;
  verbs::Qp datagrams_;
  Job job_;
  std::optional<Buffers> out_, in_;
  std::vector<std::pair<std::byte*, verbs::Ah>> ways_;  // of datagrams that are under way
  connect::Card self_;
  std::optional<connect::Machine> machine_;
  connect::GiveUps give_ups_;
  std::vector<std::byte*> unposted_;  // buffers for datagrams, which the device has not taken
  Trouble saying_, hearing_;
  std::string why_no_pair_;
  std::vector<std::unique_ptr<Pair>> pairs_;  // by QpId
  std::vector<std::unique_ptr<Pair>> dying_;  // closed; not destroyed yet, see bury()
  std::deque<connect::Action> actions_;
  std::vector<connect::action::ConnectQp> late_;  // wait for what comes by an earlier pair
  bool carrying_out_ = false;
  bool left_ = false, used_ = false;
};

}  // namespace scela::channel
