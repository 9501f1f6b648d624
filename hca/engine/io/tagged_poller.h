// The descriptors that the engine waits for (epoll), each with a tag that names its owner. Server
// and Fabric add descriptors; only the engine's thread uses it.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <optional>
#include <span>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::hca {

// The owner of a descriptor.
struct Tag {
  // `listener`: the socket where processes connect. `signals`: signals that end the engine. `wake`:
  // a process's eventfd, which it writes to wake the engine. `connection`: requests of a process.
  // `process`: its pidfd, readable once it has ended. `events`: an event socket that was full.
  // `fabric`: a connection to a node, or the socket where nodes connect (id 0). `directory`:
  // messages of the agent.
  enum class Kind : std::uint8_t {
    listener,
    signals,
    wake,
    connection,
    process,
    events,
    fabric,
    directory
  };
  Kind kind = Kind::wake;
  // A process (ProcessId), or the number of a connection to a node.
  std::uint32_t id = 0;
  std::uint32_t descriptor = 0;  // for events: the socket
};

// An epoll descriptor and the result of its last wait.
class TaggedPoller {
 public:
  // Returns an error if the kernel gives no epoll descriptor.
  static Result<TaggedPoller> make();

  // Waits from now on for `events` (EPOLLIN and others of epoll) on the descriptor. If the poller
  // waits for it already, the events and the tag are replaced. Returns false and sets errno if the
  // kernel refuses.
  bool add(int descriptor, std::uint32_t events, Tag tag) const;
  // Waits for the descriptor no longer; an unknown one is ignored.
  void remove(int descriptor) const;

  // A descriptor that is ready, by its tag, and the events that have occurred.
  struct Ready {
    Tag tag;
    std::uint32_t events = 0;
  };
  // Blocks until a descriptor is ready, at most `most` nanoseconds, or without limit if that is
  // std::nullopt. Returns the descriptors that are ready, at most 64; the result is valid until the
  // next call. It is empty after the time or a signal.
  std::span<const Ready> wait(std::optional<std::uint64_t> most);

 private:
  explicit TaggedPoller(Fd epoll) : epoll_(std::move(epoll)) {}

  static constexpr int kAtOnce = 64;
  Fd epoll_;
  epoll_event events_[kAtOnce] = {};
  Ready ready_[kAtOnce];
};

}  // namespace scela::hca
