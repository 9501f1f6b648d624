// The path to other nodes by verbs. Messages need credits and buffers
// (comm-channel/core/protocol/flow.h), and use the connections of the device's first port
// (port/port_links.h). The bytes of large messages use several ports if the options ask for that.
//
// The parts have the state, and this class polls the completion queues for them:
//
//   LinkDevice      the objects of the verbs device        PortSet         the ports in use
//   RankTable       other ranks, and which are lost        SendSlots       connections with room
//   ReceiveBuffers  posted buffers, and credits for them   LinkRequests    requests under way
//   LinkMessages    messages, in order                     RefusedMoves    why bytes were refused
//   PeerChecks      whether ranks are still there          LinkSleep       waiting for events
//
// Only one thread at a time may call it, except that doze() and wake() may be called by any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/core/connect/connection_machine.h"
#include "comm-channel/core/protocol/flow.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/engine/offload_link.h"
#include "comm-channel/net/link_device.h"
#include "comm-channel/net/link_messages.h"
#include "comm-channel/net/link_requests.h"
#include "comm-channel/net/link_sleep.h"
#include "comm-channel/net/peer_checks.h"
#include "comm-channel/net/port_events.h"
#include "comm-channel/net/port_set.h"
#include "comm-channel/net/rank_table.h"
#include "comm-channel/net/receive_buffers.h"
#include "comm-channel/net/refused_moves.h"
#include "comm-channel/net/send_slots.h"
#include "comm-channel/verbs/factory.h"

namespace scela::channel {

class NetworkLink final : public Network {
 public:
  // Makes the link on an open device. `file` is a descriptor of a file that all ranks of this node
  // have open, and no other process. It is -1 if this rank is alone on its node. The caller keeps
  // the descriptor. Ranks on one node of `world` share connections. All ranks have the same `word`.
  static Result<std::unique_ptr<NetworkLink>> open(const World& world,
                                                   const ChannelOptions& options,
                                                   const connect::JobSecret& word,
                                                   verbs::Device device, int file);
  NetworkLink(const NetworkLink&) = delete;
  NetworkLink& operator=(const NetworkLink&) = delete;
  ~NetworkLink() override;

  // address() returns what other ranks must know of this rank. look_up_with() sets the
  // function that gets another rank's peer address when it is first needed.
  std::string address() const { return ports_.address(); }
  using CardOf = RankTable::CardOf;
  void look_up_with(CardOf card_of) { ranks_.look_up_with(std::move(card_of)); }
  // Sets the function that asks the launcher whether a rank that does not answer has ended.
  void ask_with(std::function<bool(int rank)> has_left) { checks_.ask_with(std::move(has_left)); }

  // The contract of these functions is in comm-channel/engine/network.h.
  bool send(int rank, const Header& header, std::span<const std::byte> payload) override {
    return messages_.send(rank, header, payload);
  }
  bool write(int rank, Operation& operation, std::span<const std::byte> from, std::uint64_t to,
             std::uint32_t key) override {
    return requests_.move(rank, operation, from.data(), from.size(), IBV_WR_RDMA_WRITE, to, key);
  }
  bool read(int rank, Operation& operation, std::span<std::byte> to, std::uint64_t from,
            std::uint32_t key) override {
    return requests_.move(rank, operation, to.data(), to.size(), IBV_WR_RDMA_READ, from, key);
  }
  Result<verbs::Registration> registered(std::span<const std::byte> bytes,
                                         verbs::Registrations::For what) override;
  OffloadLink* offload_link() override { return offload_ ? &*offload_ : nullptr; }
  unsigned poll(NetworkUser& user) override;
  bool takes_eager(int rank) const override;
  void keep_eager(bool keep) override { flow_.keep_eager(keep); }
  void ended(int rank) override;
  void give_up(int rank) override { ranks_.give_up(ranks_.at(rank)); }
  bool is_receiving(int rank) const override { return ranks_.is_receiving(rank); }
  bool is_connected(int rank) const override { return checks_.is_connected(rank); }
  void look_around() override { checks_.look_around(); }
  bool idle() const override;
  bool leave() override;
  bool arm() override { return sleep_.arm(); }
  void doze(const Timeout& limit) override { sleep_.doze(limit); }
  void wake() override { sleep_.wake(); }
  void disarm() override { sleep_.disarm(); }
  int events() const override { return sleep_.events(); }
  Timeout until_timer() const override { return sleep_.until_timer(); }
  bool works() const override { return device_.works(); }
  bool is_software() const override { return verbs::needs_job(device_.symbols()); }
  void add_counters(Counters& counters) const override;
  std::string describe() const override;

 private:
  NetworkLink(const World& world, const ChannelOptions& options, verbs::Device device);
  // make() makes all parts, and calls make_ports(). `file` is that of open(). An error leaves an
  // object that is only to be destroyed.
  Result<void> make(const connect::JobSecret& word, int file);
  Result<void> make_ports(const connect::JobSecret& word);
  // Returns how many ports the options ask for, as far as the device has active ones.
  std::size_t ports_to_use() const;

  // These return how many completions, or asynchronous events of the device, they have taken.
  unsigned poll_sends(NetworkUser& user);
  unsigned poll_receives(NetworkUser& user);
  unsigned read_device_events();
  // on_complete() handles a completion of the request `work`, whether it succeeded or not. If
  // wc.status is an error, it calls on_failed(). That function sends the request again, keeps it
  // until the reason is known, or ends it. `user` is told of a move (RDMA) that is over.
  void on_complete(LinkWork& work, const ibv_wc& wc, NetworkUser& user);
  void on_failed(Remote& to, LinkWork& work, const ibv_wc& wc, NetworkUser& user);
  // Notifies the user of moves and ranks that have ended. Returns how many.
  unsigned report_ends(NetworkUser& user);

  const World world_;
  const ChannelOptions options_;
  LinkDevice device_;
  std::optional<OffloadLink> offload_;
  Flow flow_{Flow::Limits{}};
  PortSet ports_;
  LinkTurns turns_;
  RankTable ranks_;
  UnsettledRanks unsettled_;
  ReceiveBuffers receives_;
  SendSlots slots_;
  LinkRequests requests_;
  LinkMessages messages_;
  RefusedMoves refused_;
  PeerChecks checks_;
  PortEvents port_events_;
  LinkSleep sleep_;
  std::array<std::uint64_t, kMaxPorts> bytes_by_port_{};
  std::uint64_t rnr_events_ = 0, resent_ = 0;
};

}  // namespace scela::channel
