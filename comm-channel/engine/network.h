// The path to other nodes, as four interfaces that their users take separately: NetworkTraffic
// (messages and bytes), NetworkPeers (the ranks there, and their ends), NetworkSleep (waiting for
// them) and NetworkDevice (the adapter). Network is all four. comm-channel/net/network_link.h
// implements it with verbs, and tests have an implementation of their own.
//
// Ranks are those of the job. One thread at a time may call a network, except for the functions of
// NetworkSleep that say otherwise. Only NetworkSleep::doze() blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/verbs/factory.h"
#include "common/core/result.h"

namespace scela::channel {

struct Operation;
class OffloadLink;

// Receives the events of a network. Its functions are called from NetworkTraffic::poll() only,
// never from within another call.
class NetworkUser {
 public:
  // A message of the rank has come. The payload is valid until the function returns. The function
  // may send.
  virtual void arrived(int rank, const Header& header, std::span<const std::byte> payload) = 0;
  // A write or a read of the operation's bytes has ended; `outcome` says how.
  virtual void moved(Operation& operation, Outcome outcome) = 0;
  // The rank cannot be reached any more. `why` is text for people.
  virtual void lost(int rank, const std::string& why) = 0;

 protected:
  ~NetworkUser() = default;
};

// Messages to ranks of other nodes and back, and the bytes of large messages.
class NetworkTraffic {
 public:
  // Returns false if the message cannot be sent now; the caller tries again after poll(). Of the
  // header's flags the caller sets only those of the message itself. Messages to one rank arrive in
  // the order in which they were sent, but answers (ready, done) may overtake them.
  virtual bool send(int rank, const Header& header, std::span<const std::byte> payload) = 0;
  // These move bytes of an operation's registered buffer to, or from, the memory of another rank:
  // `to` and `from` are addresses there, and `key` is the rkey. They return false if that is not
  // possible now; otherwise NetworkUser::moved() follows.
  virtual bool write(int rank, Operation& operation, std::span<const std::byte> from,
                     std::uint64_t to, std::uint32_t key) = 0;
  virtual bool read(int rank, Operation& operation, std::span<std::byte> to, std::uint64_t from,
                    std::uint32_t key) = 0;
  // Moves what can be moved, without waiting. Returns how many messages came and how many
  // operations ended. 0 means that nothing has changed.
  virtual unsigned poll(NetworkUser& user) = 0;
  // Returns whether eager messages (up to `eager_verbs` bytes) may be sent to the rank.
  virtual bool takes_eager(int rank) const = 0;
  // With false, this process keeps so many unexpected bytes that other ranks shall send offers
  // instead of eager messages.
  virtual void keep_eager(bool keep) = 0;
  // Returns whether no send is under way.
  virtual bool idle() const = 0;
  // Begins to leave, so that other ranks send nothing more to this one. The caller calls poll()
  // until this returns true.
  virtual bool leave() = 0;

 protected:
  ~NetworkTraffic() = default;
};

// The ranks of other nodes: whether they are connected and alive.
class NetworkPeers {
 public:
  // The rank has ended, or is given up: operations with it end, through NetworkUser::moved(), and
  // nothing is sent to it any more. The user calls it once for a rank.
  virtual void ended(int rank) = 0;
  // The rank lives, but this process cannot go on with it. The rank is told, and ended() follows.
  virtual void give_up(int rank) { static_cast<void>(rank); }
  // Returns whether messages of the rank may still come by a connection that is closed.
  virtual bool is_receiving(int rank) const {
    static_cast<void>(rank);
    return false;
  }
  // Returns whether there is, or was, a connection to the rank that shows its end. Returns false if
  // links are limited and none goes to the rank now.
  virtual bool is_connected(int rank) const {
    static_cast<void>(rank);
    return true;
  }
  // A caller that waits in vain calls this: it checks whether the peers are still there. It may be
  // called often.
  virtual void look_around() = 0;

 protected:
  ~NetworkPeers() = default;
};

// The sleep of a process until something comes from another node. It has three parts: arm(),
// doze(), disarm(). A caller may also sleep elsewhere between arm() and disarm(), at events() and
// for no longer than until_timer().
class NetworkSleep {
 public:
  // Announces the sleep to the device. Returns false if the caller must poll once more first; then
  // disarm() does not follow.
  virtual bool arm() = 0;
  // Blocks until something comes, wake() is called or the limit has passed, or somewhat less. Any
  // thread may call it and wake(), without the lock for the other functions.
  virtual void doze(const Timeout& limit) = 0;
  virtual void wake() = 0;
  // Ends what a true result of arm() has begun.
  virtual void disarm() = 0;
  // Returns a descriptor that is readable when something comes; -1: the device is gone.
  virtual int events() const = 0;
  // Returns the time after which poll() is to be called in any case; no value: no such time.
  virtual Timeout until_timer() const = 0;

 protected:
  ~NetworkSleep() = default;
};

// The adapter by which this process reaches other nodes: its memory, queue pairs and counters.
class NetworkDevice {
 public:
  // Registers memory for write() and read() (For::transfer), or for sends of offloaded channels
  // (For::sending). It stays registered at least as long as the result exists.
  virtual Result<verbs::Registration> registered(std::span<const std::byte> bytes,
                                                 verbs::Registrations::For what) = 0;
  // Returns the queue pairs of offloaded channels to the same ranks, or null if there are none.
  virtual OffloadLink* offload_link() { return nullptr; }
  // Returns false if the device of this process is gone, and with it every path to other nodes.
  virtual bool works() const { return true; }
  // Returns whether processors do the adapter's work, besides those of ranks that wait for it.
  virtual bool is_software() const = 0;
  // Adds the figures of this network to the counters. describe() returns text for people.
  virtual void add_counters(Counters& counters) const = 0;
  virtual std::string describe() const = 0;

 protected:
  ~NetworkDevice() = default;
};

class Network : public NetworkTraffic,
                public NetworkPeers,
                public NetworkSleep,
                public NetworkDevice {
 public:
  virtual ~Network() = default;
};

}  // namespace scela::channel
