// The ranks of other nodes that a process has to do with: the state that is kept for each (Remote),
// and which of them are lost. NetworkLink (network_link.h) owns one, and its parts use it.
//
// Only one thread at a time may call it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/core/protocol/flow.h"
#include "comm-channel/core/protocol/sequence.h"
#include "comm-channel/core/protocol/stripes.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/net/link_device.h"
#include "comm-channel/net/port_set.h"

namespace scela::channel {

struct LinkWork;  // link_requests.h

// The connections to one rank by each port, and the requests under way on them.
class RankPaths {
 public:
  // Returns how many ports both sides use, at least 1.
  std::size_t ports() const { return ports_; }
  void set_ports(std::size_t ports) { ports_ = ports; }
  // Returns the rank's number at a port, or kNone if it is not known there.
  connect::PeerId id(std::size_t port = 0) const { return paths_[port].id; }
  void set_id(std::size_t port, connect::PeerId id) { paths_[port].id = id; }

  // Returns the number of requests under way by a port. on_posted() and on_complete() count them;
  // on_posted() also counts the bytes, for cut().
  std::uint32_t under_way(std::size_t port = 0) const { return paths_[port].under_way; }
  void on_posted(std::size_t port, const PortPair* pair, std::uint64_t bytes) {
    ++paths_[port].under_way;
    stripes_.went(port, bytes);
    if (port == 0) active_pair_ = pair;
  }
  void on_complete(std::size_t port) { --paths_[port].under_way; }
  // Returns true if messages are under way on another pair of the first port. They come back first,
  // and are sent before new ones.
  bool must_wait_for_others(const PortPair* pair) const {
    return paths_.front().under_way != 0 && active_pair_ != pair;
  }
  // Cuts the bytes of a large message into shares of the usable ports.
  Stripes::Shares cut(std::uint64_t bytes, unsigned usable) { return stripes_.cut(bytes, usable); }

  // Keeps the port from being used for this rank before that time.
  void pause(std::size_t port, connect::Time until) { paths_[port].not_before = until; }
  connect::Time paused_until(std::size_t port) const { return paths_[port].not_before; }

  // Sets whether the port waits until all requests to the rank are complete. take_drained() returns
  // true, once, when they are.
  void set_draining(std::size_t port, bool draining) { paths_[port].draining = draining; }
  bool take_drained(std::size_t port) {
    Path& path = paths_[port];
    if (!path.draining || path.under_way != 0) return false;
    path.draining = false;
    return true;
  }

 private:
  struct Path {
    connect::PeerId id = connect::kNone;
    std::uint32_t under_way = 0;  // requests
    bool draining = false;        // the port waits for the last request
    connect::Time not_before{};   // not before, if another port failed
  };
  std::array<Path, kMaxPorts> paths_;
  std::size_t ports_ = 1;
  Stripes stripes_;
  const PortPair* active_pair_ = nullptr;  // with messages under way
};

// The attempts to connect to one rank by the first port.
class ConnectionAttempt {
 public:
  // Notes that a connection is asked for. Keeps the time of the first request since the last
  // connection.
  void begin(connect::Time now) {
    if (!wanted_) wanted_ = now;
  }
  // Notes that there is a connection.
  void succeed() {
    wanted_.reset();
    unanswered_.reset();
  }
  // Notes that an attempt has failed. Returns the time since the first failure after the last
  // connection.
  connect::Time fail(connect::Time now) {
    if (!unanswered_) unanswered_ = now;
    return now - *unanswered_;
  }
  // Sets when to ask again after an attempt that has failed.
  void ask_after(connect::Time time) { ask_after_ = time; }

  // Return whether a connection is asked for, and whether an attempt has failed since the last one.
  bool is_wanted() const { return wanted_.has_value(); }
  bool has_failed() const { return unanswered_.has_value(); }
  connect::Time asks_after() const { return ask_after_; }
  // Returns whether a connection was asked for at least `time` ago, and there is none.
  bool is_wanted_since(connect::Time time, connect::Time now) const {
    return wanted_ && now - *wanted_ >= time;
  }

 private:
  std::optional<connect::Time> wanted_;      // since a connection was asked for
  std::optional<connect::Time> unanswered_;  // since an attempt failed
  connect::Time ask_after_{};
};

// The state of one rank. Each group of members is written by the part that is named, and others may
// read it.
struct Remote {
  explicit Remote(int number) : rank(number) {}

  const int rank;
  RankPaths paths;
  ConnectionAttempt attempt;
  // RankTable.
  bool lost = false;
  // LinkMessages, with ReceiveBuffers and Flow.
  Flow::Peer flow;
  Sequence sequence;
  std::deque<Flow::Note> notes;  // messages about credit, to be sent
  // LinkRequests: requests to be posted again, in order.
  std::deque<LinkWork*> again;
  // UnsettledRanks.
  bool unsettled = false;  // it is in the list
  // PeerChecks.
  bool leaves = false;                   // it is about to end, as it has reported
  struct Doubt {                         // whether the rank is there
    std::optional<connect::Time> since;  // by UnsettledRanks::listened()
    std::string why;
    int path_of = -1;  // the rank with the failed path
  } doubt;
  // RefusedMoves: parts of moves that the rank's side has refused.
  struct Refused {
    std::deque<LinkWork*> parts;          // not reported yet
    connect::Time since{};                // by UnsettledRanks::listened(): the first of them
    const std::byte* question = nullptr;  // sent to see if it has its memory
    std::size_t questioned = 0;           // how many of `parts` it settles
  } refused;
};

// The links that may be asked for at a time, if links are limited. Each link is used before the
// next one is asked for. Otherwise a rank that waits for a link would take one that has just been
// made.
class LinkTurns {
 public:
  // `max_links` is 0 if links are not limited.
  LinkTurns(const World& world, bool by_rank, std::size_t max_links)
      : world_(world), by_rank_(by_rank), max_links_(max_links) {}

  // Returns whether the link to the rank may be asked for now.
  bool begin(int rank) {
    const int link = link_to(rank);
    if (max_links_ == 0 || std::ranges::find(asked_for_, link) != asked_for_.end()) return true;
    if (asked_for_.size() >= max_links_) return false;
    asked_for_.push_back(link);
    return true;
  }
  // Ends the turn that begin() gave to the link: it is used, or is not asked for any more.
  void end(int rank) { std::erase(asked_for_, link_to(rank)); }

 private:
  // With RC each rank has a link of its own; otherwise all ranks of a node share one.
  int link_to(int rank) const {
    return by_rank_ ? rank : world_.node_of[static_cast<std::size_t>(rank)];
  }

  const World& world_;
  const bool by_rank_;
  const std::size_t max_links_;
  std::vector<int> asked_for_;
};

// All ranks of the job, those of other nodes with their state.
class RankTable {
 public:
  // Returns the text of NetworkLink::address() of a rank: its peer address at each port.
  using CardOf = std::function<Result<std::string>(int rank)>;
  // Tells whether the lost rank is notified (`yes`): it may live and wait for this process.
  enum class Notify : bool { no, yes };

  // All arguments must outlive this object.
  RankTable(const World& world, LinkDevice& device, PortSet& ports, LinkTurns& turns)
      : world_(world),
        device_(device),
        ports_(ports),
        turns_(turns),
        remotes_(static_cast<std::size_t>(world.size)) {}
  RankTable(const RankTable&) = delete;
  RankTable& operator=(const RankTable&) = delete;

  // Sets the function by which at() gets a rank's peer address when it is first needed.
  void look_up_with(CardOf card_of) { card_of_ = std::move(card_of); }

  // Returns the state of a rank. The first call asks for its peer address, and may lose the rank.
  Remote& at(int rank) {
    Remote* const known = this->known(rank);
    return known != nullptr ? *known : add(rank);
  }
  // Returns null if at() was not called for the rank.
  Remote* known(int rank) const { return remotes_[static_cast<std::size_t>(rank)].get(); }
  // Returns the rank that has the number `peer` at that port, or null if the peer is of another
  // job.
  Remote* of_peer(std::size_t port, connect::PeerId peer);
  // Returns all ranks, by number; null for those that are not known.
  const std::vector<std::unique_ptr<Remote>>& all() const { return remotes_; }

  // Gives the rank up: nothing is sent to it any more. NetworkUser::lost() follows, by
  // report_losses(), when all that came from the rank was received. An empty `why` means that the
  // rank has ended.
  void lose(Remote& remote, std::string why, Notify notify = Notify::yes);
  // Notifies a rank that lives that this process cannot go on with it.
  void give_up(const Remote& remote);
  // Notes that the user knows the end of the rank: it is lost, and that is not reported.
  void note_ended(Remote& remote) { remote.lost = true; }
  // The device is gone: loses all ranks of other nodes.
  void lose_device(const std::string& why);
  // Returns whether messages of the rank may still come by a closed connection.
  bool is_receiving(int rank) const;

  // Returns how many losses are not reported yet.
  std::size_t unreported() const { return lost_.size(); }
  // Reports losses of ranks from which everything was received. Returns how many.
  unsigned report_losses(NetworkUser& user);

 private:
  // The loss of a rank that is not reported yet.
  struct Loss {
    int rank = -1;
    std::string why;
    CompletionLooks::Mark known;  // when it was noticed
  };

  Remote& add(int rank);
  // Returns whether all messages that the rank sent before it was lost have been received.
  bool is_known_to_the_last(const Loss& loss) const;

  const World& world_;
  LinkDevice& device_;
  PortSet& ports_;
  LinkTurns& turns_;
  CardOf card_of_;
  std::vector<std::unique_ptr<Remote>> remotes_;  // by rank, once it is used
  std::vector<Loss> lost_;
};

// The ranks with requests to repeat, refused parts, or a doubt whether they are there. PeerChecks
// (peer_checks.h) looks at them at each poll.
//
// Time passes here only while this process listens: other ranks may have sent something that it has
// not read, because it computed, was stopped or waited for a processor.
class UnsettledRanks {
 public:
  explicit UnsettledRanks(const LinkDevice& device) : device_(device) {}

  // Adds a rank, unless it is in the list.
  void add(Remote& remote) {
    if (remote.unsettled) return;
    remote.unsettled = true;
    if (ranks_.empty()) looked_at_ = device_.now();
    ranks_.push_back(&remote);
  }
  bool empty() const { return ranks_.empty(); }
  // Returns the time spent listening. listen() adds the time since the last call, but at most
  // `most`.
  connect::Time listened() const { return listened_; }
  void listen(connect::Time most) {
    const connect::Time time = device_.now();
    listened_ += std::min(time - looked_at_, most);
    looked_at_ = time;
  }
  // Removes the ranks for which `is_settled` returns true.
  template <class Settled>
  void remove_if(Settled is_settled) {
    std::erase_if(ranks_, [&](Remote* remote) {
      if (!is_settled(*remote)) return false;
      remote->unsettled = false;
      return true;
    });
  }

 private:
  const LinkDevice& device_;
  std::vector<Remote*> ranks_;
  connect::Time listened_{}, looked_at_{};
};

}  // namespace scela::channel
