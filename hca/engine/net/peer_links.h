// The TCP connections to other nodes' engines by number, whether they are established or not, and
// the poller that watches them. Fabric has one, on the engine's one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "hca/engine/io/tagged_poller.h"
#include "hca/engine/net/peer_link.h"

namespace scela::hca {

// The connections (PeerLink), each with a number.
class PeerLinks {
 public:
  // Sets the poller; called once, before a connection is added. It must outlive this object.
  void watch_by(const TaggedPoller& poller) { poller_ = &poller; }

  // Adds a connection and waits for `events` (of epoll) on it. Returns its number, larger than
  // those before and never used again. Returns 0 if the kernel refuses; the connection is then
  // closed.
  std::uint32_t add(PeerLink link, std::uint32_t events);
  // Closes the connection. Returns false if there is none of this number.
  bool remove(std::uint32_t id);
  // Returns the connection with this number, or null if there is none.
  PeerLink* find(std::uint32_t id) {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : &found->second;
  }
  // Return the connection with this number, which must exist.
  PeerLink& at(std::uint32_t id) { return links_.at(id); }
  const PeerLink& at(std::uint32_t id) const { return links_.at(id); }
  std::size_t size() const { return links_.size(); }

  // Waits for bytes of this connection, and not until it can be written to. For a greeting, which
  // sends so little that it fits.
  void await_input(std::uint32_t id, const PeerLink& link) const {
    poller_->add(link.descriptor(), EPOLLIN, tag_of(id));
  }
  // Makes the poller wait until the connection can be written to if something waits to be sent, and
  // only then. `outbox` is that of its node.
  void watch(std::uint32_t id, PeerLink& link, const Outbox& outbox) const {
    const bool waits = !link.has_sent_all(outbox);
    if (waits == link.waits_to_write()) return;
    link.waits_to_write(waits);
    poller_->add(link.descriptor(), EPOLLIN | (waits ? EPOLLOUT : 0u), tag_of(id));
  }

  // Drops the connections that are not established. Sends what is left on the others, blocks for at
  // most a second, and closes those that are done. `outbox_of` returns what waits for a node.
  void finish(const std::function<Outbox&(std::uint32_t node)>& outbox_of);

 private:
  // Returns the poller's tag of a connection.
  static Tag tag_of(std::uint32_t id) { return {Tag::Kind::fabric, id, 0}; }

  const TaggedPoller* poller_ = nullptr;
  std::map<std::uint32_t, PeerLink> links_;
  std::uint32_t next_ = 1;
};

}  // namespace scela::hca
