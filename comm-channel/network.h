// What the messenger needs of a way to other nodes. network_link.h has the one by verbs; tests have
// theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "comm-channel/core/wire.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/verbs/factory.h"
#include "common/core/result.h"

namespace scela::channel {

struct Operation;
class OffloadLink;

// What comes by it. Called from poll() only, never from within another call.
class NetworkUser {
 public:
  // The payload is valid until it returns. It may send.
  virtual void arrived(int rank, const Header& header, std::span<const std::byte> payload) = 0;
  // A write or a read is over.
  virtual void moved(Operation& operation, Outcome outcome) = 0;
  // There is no way to it any more.
  virtual void lost(int rank, const std::string& why) = 0;

 protected:
  ~NetworkUser() = default;
};

class Network {
 public:
  virtual ~Network() = default;

  // False: not now; try again after poll(). Of a header's flags only those of the message itself
  // are the caller's. What arrives of one rank has the order in which it was sent, but for answers
  // (ready, done), which may overtake.
  virtual bool send(int rank, const Header& header, std::span<const std::byte> payload) = 0;
  // Bytes of an operation's registered buffer to, or from, another rank's. False: not now. moved()
  // follows.
  virtual bool write(int rank, Operation& operation, std::span<const std::byte> from,
                     std::uint64_t to, std::uint32_t key) = 0;
  virtual bool read(int rank, Operation& operation, std::span<std::byte> to, std::uint64_t from,
                    std::uint32_t key) = 0;
  virtual Result<verbs::Registration> registered(std::span<const std::byte> bytes,
                                                 verbs::Registrations::For what) = 0;

  // Queue pairs of offloaded channels to the same ranks. None: it has none.
  virtual OffloadLink* offload_link() { return nullptr; }

  // How many things came, or were over.
  virtual unsigned poll(NetworkUser& user) = 0;
  // Whether messages of up to `eager` bytes may be sent whole to it.
  virtual bool takes_eager(int rank) const = 0;
  // False: this process keeps so much already; others shall offer what they send.
  virtual void keep_eager(bool keep) = 0;
  virtual void ended(int rank) = 0;
  // The rank lives, and this process cannot go on with it: it is told. ended() follows.
  virtual void give_up(int rank) { static_cast<void>(rank); }
  // Whether messages of the rank may still come by a connection that is closed.
  virtual bool is_receiving(int) const { return false; }
  // Whether there is, or was, a connection with the rank, by which its end is noticed: not where
  // links are limited and none goes there now.
  virtual bool is_connected(int) const { return true; }
  // For who waits, and nothing comes: whether those that it speaks with are there. May be called
  // often.
  virtual void look_around() = 0;
  // Whether nothing is under way.
  virtual bool idle() const = 0;
  // Begins to end, so that nobody sends to it any more; poll() until it is true.
  virtual bool leave() = 0;
  // Sleeping in three parts. arm(): false, poll once more first. doze(): until something comes,
  // wake() is called, or the limit is over, or somewhat earlier. disarm(). Any thread calls doze()
  // and wake(), without what guards the rest.
  virtual bool arm() = 0;
  virtual void doze(const Limit& limit) = 0;
  virtual void wake() = 0;
  virtual void disarm() = 0;
  // For who sleeps elsewhere, between arm() and disarm(): a descriptor that is readable when
  // something comes, and after what time poll() is to be called in any case.
  virtual int events() const = 0;
  virtual Limit until_timer() const = 0;
  // Not: this process's device is gone, and so is everybody else by it.
  virtual bool works() const { return true; }
  // Whether processors do its work, besides those that wait for it.
  virtual bool is_software() const = 0;
  virtual void account(Accounts& accounts) const = 0;
  virtual std::string describe() const = 0;
};

}  // namespace scela::channel
