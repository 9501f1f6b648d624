// The interface of a path to other nodes that the messenger uses. comm-channel/net/network_link.h
// implements it with verbs, and tests have implementations of their own.
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

// Receives the events of a network. Its functions are called from poll() only, never from within
// another call.
class NetworkUser {
 public:
  // The payload is valid until the function returns. The function may send.
  virtual void arrived(int rank, const Header& header, std::span<const std::byte> payload) = 0;
  // A write or a read has ended.
  virtual void moved(Operation& operation, Outcome outcome) = 0;
  // The rank cannot be reached any more.
  virtual void lost(int rank, const std::string& why) = 0;

 protected:
  ~NetworkUser() = default;
};

class Network {
 public:
  virtual ~Network() = default;

  // Returns false if the message cannot be sent now; the caller tries again after poll(). Of the
  // header's flags the caller sets only those of the message itself. Messages to one rank arrive in
  // the order in which they were sent, but answers (ready, done) may overtake them.
  virtual bool send(int rank, const Header& header, std::span<const std::byte> payload) = 0;
  // Moves bytes of an operation's registered buffer to, or from, the memory of another rank.
  // Returns false if that is not possible now; otherwise moved() follows.
  virtual bool write(int rank, Operation& operation, std::span<const std::byte> from,
                     std::uint64_t to, std::uint32_t key) = 0;
  virtual bool read(int rank, Operation& operation, std::span<std::byte> to, std::uint64_t from,
                    std::uint32_t key) = 0;
  // Registers memory for write() and read() (For::transfer), or for sends of offloaded channels
  // (For::sending). It stays registered at least as long as the result exists.
  virtual Result<verbs::Registration> registered(std::span<const std::byte> bytes,
                                                 verbs::Registrations::For what) = 0;

  // Returns the queue pairs of offloaded channels to the same ranks, or null if there are none.
  virtual OffloadLink* offload_link() { return nullptr; }

  // Moves what can be moved, without waiting. Returns how many messages came and how many
  // operations ended. 0 means that nothing has changed.
  virtual unsigned poll(NetworkUser& user) = 0;
  // Returns whether eager messages (up to `eager_verbs` bytes) may be sent to the rank.
  virtual bool takes_eager(int rank) const = 0;
  // With false, this process keeps so many unexpected bytes that other ranks shall send offers
  // instead of eager messages.
  virtual void keep_eager(bool keep) = 0;
  // The rank has ended, or is given up: operations with it end, through moved(), and nothing is
  // sent to it any more. The user calls it once for a rank.
  virtual void ended(int rank) = 0;
  // The rank lives, but this process cannot go on with it. The rank is told, and ended() follows.
  virtual void give_up(int rank) { static_cast<void>(rank); }
  // Returns whether messages of the rank may still come by a connection that is closed.
  virtual bool is_receiving(int) const { return false; }
  // Returns whether there is, or was, a connection to the rank that shows its end. Returns false if
  // links are limited and none goes to the rank now.
  virtual bool is_connected(int) const { return true; }
  // A caller that waits in vain calls this: it checks whether the peers are still there. It may be
  // called often.
  virtual void look_around() = 0;
  // Returns whether no send is under way.
  virtual bool idle() const = 0;
  // Begins to leave, so that other ranks send nothing more to this one. The caller calls poll()
  // until this returns true.
  virtual bool leave() = 0;
  // Sleeping has three parts: arm(), doze(), disarm(). If arm() returns false, the caller polls
  // once more first. Then doze() returns if something comes, if wake() is called or at the limit,
  // possibly somewhat earlier. Any thread may call doze() and wake() without the lock for the other
  // functions.
  virtual bool arm() = 0;
  virtual void doze(const Timeout& limit) = 0;
  virtual void wake() = 0;
  virtual void disarm() = 0;
  // These are for a caller that sleeps elsewhere between arm() and disarm(). The descriptor is
  // readable when something comes; it is -1 if the device is gone. The second function returns the
  // time after which poll() is to be called in any case.
  virtual int events() const = 0;
  virtual Timeout until_timer() const = 0;
  // Returns false if the device of this process is gone, and with it every path to other nodes.
  virtual bool works() const { return true; }
  // Returns whether processors do the adapter's work, besides those of ranks that wait for it.
  virtual bool is_software() const = 0;
  // Adds the figures of this network to the counters. describe() returns text for people.
  virtual void account(Counters& counters) const = 0;
  virtual std::string describe() const = 0;
};

}  // namespace scela::channel
