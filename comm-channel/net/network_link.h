// The path to other nodes by verbs. Messages need credits and buffers
// (comm-channel/core/protocol/flow.h), and use the connections of the device's first port
// (port_links.h). The bytes of large messages use several ports if the options ask for that.
//
// Only one thread at a time may call it, except that doze() and wake() may be called by any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/core/connect/connection.h"
#include "comm-channel/core/protocol/completion_looks.h"
#include "comm-channel/core/protocol/flow.h"
#include "comm-channel/core/protocol/sequence.h"
#include "comm-channel/core/protocol/stripes.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/engine/offload_link.h"
#include "comm-channel/engine/pool.h"
#include "comm-channel/net/network_buffers.h"
#include "comm-channel/net/port_links.h"
#include "comm-channel/verbs/factory.h"
#include "common/os/fd.h"

namespace scela::channel {

class NetworkLink final : public Network, private PortLinks::User {
 public:
  // `file` is a descriptor of a file that all ranks of this node have open, and no other process.
  // It is -1 if this rank is alone on its node. The caller keeps the descriptor. Ranks on one node
  // of `world` share connections. All ranks have the same `word`.
  static Result<std::unique_ptr<NetworkLink>> open(const World& world, const Options& options,
                                                   const connect::JobSecret& word,
                                                   verbs::Device device, int file);
  NetworkLink(const NetworkLink&) = delete;
  NetworkLink& operator=(const NetworkLink&) = delete;
  ~NetworkLink() override;

  // address() returns what other ranks must know of this rank. look_up_with() sets the
  // function that gets another rank's peer address when it is first needed.
  std::string address() const;
  using CardOf = std::function<Result<std::string>(int rank)>;
  void look_up_with(CardOf card_of) { card_of_ = std::move(card_of); }
  // Sets the function that asks the launcher whether a rank that does not answer has ended.
  void ask_with(std::function<bool(int rank)> has_left) { has_left_ = std::move(has_left); }

  // The contract of these functions is in comm-channel/engine/network.h.
  bool send(int rank, const Header& header, std::span<const std::byte> payload) override;
  bool write(int rank, Operation& operation, std::span<const std::byte> from, std::uint64_t to,
             std::uint32_t key) override;
  bool read(int rank, Operation& operation, std::span<std::byte> to, std::uint64_t from,
            std::uint32_t key) override;
  Result<verbs::Registration> registered(std::span<const std::byte> bytes,
                                         verbs::Registrations::For what) override;
  OffloadLink* offload_link() override { return offload_ ? &*offload_ : nullptr; }
  unsigned poll(NetworkUser& user) override;
  bool takes_eager(int rank) const override;
  void keep_eager(bool keep) override { flow_.keep_eager(keep); }
  void ended(int rank) override;
  void give_up(int rank) override;
  bool is_receiving(int rank) const override;
  bool is_connected(int rank) const override;
  void look_around() override;
  bool idle() const override;
  bool leave() override;
  bool arm() override;
  void doze(const Limit& limit) override;
  void wake() override;
  void disarm() override;
  int events() const override { return dead_ ? -1 : events_->fd; }
  Limit until_timer() const override { return until_timer_; }
  bool works() const override { return !dead_; }
  bool is_software() const override { return verbs::needs_job(*device_.symbols); }
  void account(Accounts& accounts) const override;
  std::string describe() const override;

 private:
  using Pair = PortLinks::Pair;
  // Bytes of an operation that are under way, in parts.
  struct Move {
    Operation* operation = nullptr;
    std::uint32_t parts = 0;
    Outcome outcome = Outcome::none;  // of the first part that failed
    Move* next_free = nullptr;
  };
  // A work request that was posted and is not complete.
  struct Work {
    Pair* pair = nullptr;
    std::size_t port = 0;
    connect::QpId qp = connect::kNone;
    int rank = -1;
    Move* move = nullptr;        // its bytes are moved; null: a message
    std::byte* bytes = nullptr;  // a message's buffer; null: a question
    std::uint32_t length = 0;
    std::uint64_t left = 0;  // after `bytes`
    ibv_wr_opcode opcode = IBV_WR_SEND;
    std::uint64_t remote_address = 0;
    std::uint32_t key = 0;
    bool posted = false;
    Work* next_free = nullptr;
  };
  // The connection to a rank by one port.
  struct PortPath {
    connect::PeerId id = connect::kNone;
    std::uint32_t under_way = 0;  // requests
    bool draining = false;        // drain() was called, not answered
    connect::Time not_before{};   // not before, if another port failed
  };
  // A connection on which a request can be posted now.
  struct SendSlot {
    Pair* pair = nullptr;  // null: on none
    connect::Route route;
  };
  struct Remote {
    std::array<PortPath, kMaxPorts> paths;
    std::size_t ports = 1;  // that both sides use
    Stripes stripes;
    int rank = -1;
    Flow::Peer flow;
    Sequence sequence;
    const Pair* by = nullptr;  // the pair with messages under way
    bool lost = false;
    bool leaves = false;                      // it has said so
    bool unsettled = false;                   // it is in unsettled_
    std::optional<connect::Time> wanted;      // since a connection was asked for
    std::optional<connect::Time> unanswered;  // since it last answered
    connect::Time ask_after{};                // when to ask for a connection again
    std::optional<connect::Time> doubted;     // by listened_: since it is doubted
    std::string doubt;                        // the reason
    int doubted_with = -1;                    // the rank with the failed path
    std::deque<Work*> again;                  // requests to be posted again, in order
    std::deque<Work*> refused;                // refused parts of moves, not told yet
    connect::Time refused_at{};               // by listened_: the first of them
    const std::byte* question = nullptr;      // sent to see if it has its memory
    std::size_t questioned = 0;               // how many of `refused` it settles
    std::deque<Flow::Note> notes;
  };
  // The loss of a rank, which the user is not told yet.
  struct Loss {
    int rank = -1;
    std::string why;
    CompletionLooks::Mark known;  // when it was noticed
  };
  using Clock = std::chrono::steady_clock;
  // Requests under way on all queue pairs together. Above this number, messages wait here.
  static constexpr std::uint32_t kMaxUnderWay = 1024;
  // The pause before a port other than the first is tried again.
  static constexpr connect::Time kPauseOfPort = std::chrono::seconds(10);

  NetworkLink(const World& world, const Options& options, verbs::Device device);
  // make() makes all parts, and calls make_ports(). `file` is that of open(). An error leaves an
  // object that is only to be destroyed.
  Result<void> make(const connect::JobSecret& word, int file);
  Result<void> make_ports(const connect::JobSecret& word);
  // Returns how many ports the options ask for, as far as the device has active ones.
  std::size_t ports_to_use() const;
  connect::Time now() const override {
    return std::chrono::duration_cast<connect::Time>(Clock::now() - begin_);
  }

  // Posts a buffer to the shared receive queue. If that fails, post_again() keeps the buffer for
  // post_those_left(), which loses the device if it goes on failing.
  Result<void> post_receive(std::byte* buffer);
  void post_again(std::byte* buffer);
  void post_those_left();

  // Returns the state of a rank. The first call asks for its peer address, and may lose the rank.
  // It is never null.
  Remote* remote(int rank);
  // Returns null if the peer is of another job.
  Remote* remote_of(std::size_t port, connect::PeerId peer);
  // Gives the rank its credits and posts their buffers, unless that was done before.
  void connect_flow(Remote& remote);
  int node_of(int rank) const { return world_.node_of[static_cast<std::size_t>(rank)]; }
  // With RC each rank has a link of its own; otherwise all ranks of a node share one.
  bool by_rank() const { return device_.capability.mode == verbs::Mode::rc; }
  int link_to(int rank) const { return by_rank() ? rank : node_of(rank); }
  // Returns whether a link may be asked for. If links are limited, each link is used before the
  // next one is asked for. Otherwise a rank that waits for a link would take one that has just been
  // made.
  bool in_turn(const Remote& remote);
  // The first function returns a route with room on its queue pair, and asks for a connection if
  // there is none. The second one does so for a port other than the first; no message waits for
  // such ports.
  SendSlot slot_to(Remote& remote);
  SendSlot side_slot_to(Remote& remote, std::size_t index);
  // Posts the request on that connection. Returns false if the device does not take it now: it is
  // still the caller's.
  bool post(std::size_t port, const SendSlot& slot, Work& work);
  // Returns whether the completion channel has an event that was not read.
  bool something() const;
  // Posts the requests of `again` in order. Returns false if some are left.
  bool send_again(Remote& remote);
  // Sends a message with the room and the buffer that the caller has taken. It always returns true:
  // a message that cannot be posted now is posted later.
  bool send_in(int rank, const SendSlot& slot, Room room, const Header& header,
               std::span<const std::byte> payload, std::byte* buffer);
  // Sends the notes of Flow, about credit, for one rank or for all. send_note() returns true if the
  // rank has none left.
  bool send_note(int rank, Remote& to);
  void send_notes();
  // Does write() and read(), by all ports that take something now. The results are the same.
  bool move(int rank, Operation& operation, const std::byte* bytes, std::size_t size,
            ibv_wr_opcode opcode, std::uint64_t remote_address, std::uint32_t key);

  // Posts the next part of `work` after one part was moved, or ends it if the rank is lost. Returns
  // false if no bytes are left: the work is then the caller's.
  bool go_on(Remote& to, Work& work);

  // The contract of these functions is in comm-channel/net/port_links.h (PortLinks::User).
  void addressed(std::size_t port, connect::PeerId peer) override;
  void drain(std::size_t port, connect::PeerId peer) override;
  void posted_is_lost(std::size_t port, connect::PeerId peer) override;
  void not_connected(std::size_t port, connect::PeerId peer, connect::Failure why) override;
  void gave_up(std::size_t port, connect::PeerId peer) override;
  void failed(std::size_t port, const std::string& why) override;
  void changed() override;

  // network_ends.cpp: requests that came back, and ranks that are gone. free_work() gives the work
  // and the buffer of its message back.
  void free_work(Work& work);
  // Ends the work. If it is the last part of a move, the user is told at the next poll.
  void end(Work& work, Outcome outcome);
  // Ends one part of a move. Returns the operation if it was the last part, otherwise null.
  Operation* over(Move& move, Outcome outcome);
  // Does what over() does, and tells the user at once if it was the last part.
  void tell_moved(Move& move, Outcome outcome, NetworkUser& user);
  // Handles a request that has ended with an error: it is sent again, held, or ended.
  void came_back(Work& work, const ibv_wc& wc, NetworkUser& user);
  // Keeps the work to be posted again, with the same number.
  void go_again(Remote& to, Work& work);
  // Keeps a part of a move that the other side refused, until it is known why: the memory is not
  // there (an error of the program), or the process is ending.
  void hold(Remote& to, Work& work);
  // Sends a message to find that out. answered() is called if it came into the peer's memory: the
  // refused parts fail. If nothing can be sent now, question() is called again.
  void question(Remote& remote);
  void answered(Remote& remote);
  // Returns true if no refused parts are left. `going`: the rank has a connection, and all of
  // `again` was posted.
  bool settle_refused(Remote& remote, bool going);
  // Ends the first `count` refused parts.
  void end_refused(Remote& remote, std::size_t count, Outcome outcome);
  // Reports the queue pair of the work as broken, once.
  void break_pair(const Work& work);
  // Notes a rank for settle(), which repeats requests and gives up ranks that do not answer for
  // Options::unreachable_after. settle(remote) returns true if nothing is left to do for the rank.
  void unsettle(Remote& remote);
  void settle();
  bool settle(Remote& remote);
  // Posts an RDMA write of no bytes: its completion shows if the rank is there.
  void ask(Remote& remote);
  // A path to the rank has failed: all ranks of its node are doubted until one of them answers,
  // which trust_node_of() records.
  void doubt_node_of(int rank, const std::string& why);
  void trust_node_of(int rank);
  // The first port could not connect to the rank: asks again later, or loses it.
  void not_connected(Remote& remote, connect::Failure why);
  // Returns whether the rank has not answered a request for a connection for some time.
  bool is_awaited(const Remote& remote) const;
  // Says whether the lost rank is told (`yes`): it may live and wait for this process.
  enum class Tells : bool { no, yes };
  // Gives the rank up. The user is told (NetworkUser::lost) when all that came from it was
  // received. An empty `why` means that the rank has ended.
  void lose(Remote& remote, std::string why, Tells tells = Tells::yes);
  // The device is gone: loses all ranks of other nodes. abandon() ends all requests under way,
  // since they may not come back.
  void lose_device(const std::string& why);
  void abandon();
  // Tells the user of moves and ranks that have ended. Returns how many.
  unsigned tell_ends(NetworkUser& user);
  // Returns whether all messages that the rank sent before it was lost have been received.
  bool is_known_to_the_last(const Loss& loss) const;

  // These return how many completions, or asynchronous events of the device, they have taken.
  unsigned poll_sends(NetworkUser& user);
  unsigned poll_receives(NetworkUser& user);
  // Returns whether messages may still come by any closed connection.
  bool is_receiving() const;
  unsigned hear_device();
  // Handles the completion of a request.
  void sent(Work& work, const ibv_wc& wc, NetworkUser& user);
  // Handles a message that came into `buffer`, and posts the buffer again.
  void take(std::span<const std::byte> bytes, NetworkUser& user, std::byte* buffer);
  // Tells the port that all requests for the rank are complete, if it has asked for that.
  void drained(Remote& remote, std::size_t port);

  const World world_;
  const Options options_;
  const Clock::time_point begin_ = Clock::now();
  verbs::Device device_;
  verbs::Pd pd_;
  verbs::CompChannel events_;
  Fd woken_;  // eventfd
  verbs::Cq send_cq_, receive_cq_;
  verbs::Xrcd xrcd_;
  verbs::Srq srq_;
  std::unique_ptr<verbs::Registrations> registrations_;
  std::optional<OffloadLink> offload_;
  std::uint64_t max_moved_ = 0;  // bytes of one request
  std::optional<Buffers> sends_, receives_;
  std::vector<std::unique_ptr<PortLinks>> ports_;  // used; the first has all messages
  std::array<std::uint64_t, kMaxPorts> bytes_by_port_{};
  Flow flow_{Flow::Limits{}};
  CardOf card_of_;
  std::function<bool(int rank)> has_left_;
  std::vector<std::unique_ptr<Remote>> remotes_;  // by rank, once it is used
  std::vector<int> with_notes_;
  std::vector<int> in_hand_;                          // link_to() asked for, if limited
  std::vector<Remote*> unsettled_;                    // with requests to repeat, or doubted
  std::vector<std::pair<Operation*, Outcome>> over_;  // to be told at the next poll
  Pool<Work> works_;
  Pool<Move> moves_;
  std::vector<Loss> lost_;  // not told yet
  std::uint32_t sends_under_way_ = 0;
  CompletionLooks looks_;  // at receive_cq_
  std::uint64_t rnr_events_ = 0, resent_ = 0;
  std::uint32_t max_connections_ = 0, max_queue_pairs_ = 0;
  bool leaving_ = false;
  bool armed_ = false;
  bool dead_ = false;                 // the device is gone
  std::vector<std::byte*> unposted_;  // receive buffers not posted yet
  DeviceHealth receiving_, sending_;
  connect::Time looked_around_{};
  connect::Time listened_{};    // time spent listening to unsettled_
  connect::Time settled_at_{};  // the last time
  std::size_t asked_last_ = 0;
  Limit until_timer_;  // as of arm()
};

}  // namespace scela::channel
