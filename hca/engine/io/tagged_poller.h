// The descriptors that the engine waits for, each with a tag that names its owner. Server and
// Fabric add descriptors; only the engine's thread uses it.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <optional>
#include <span>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::hca {

struct Tag {
  // `listener`: the socket where processes connect. `signals`: signals that end the engine. `wake`:
  // a process's eventfd, which it writes to wake the engine. `connection`: questions of a process.
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
  std::uint32_t id = 0;          // a process or a connection to a node
  std::uint32_t descriptor = 0;  // for events: the socket
};

class TaggedPoller {
 public:
  static Result<TaggedPoller> make();

  // Waits for `events` (EPOLLIN and others of epoll) on the descriptor. If it waits there already,
  // the events and the tag are replaced. Returns false and sets errno if the kernel refuses.
  bool add(int descriptor, std::uint32_t events, Tag tag) const;
  void remove(int descriptor) const;

  struct Ready {
    Tag tag;
    std::uint32_t events = 0;
  };
  // Waits at most `most` nanoseconds, or without limit if that is std::nullopt. Returns the
  // descriptors that are ready, at most 64. The result is empty after the time or a signal. It is
  // valid until the next call.
  std::span<const Ready> wait(std::optional<std::uint64_t> most);

 private:
  explicit TaggedPoller(Fd epoll) : epoll_(std::move(epoll)) {}

  static constexpr int kAtOnce = 64;
  Fd epoll_;
  epoll_event events_[kAtOnce] = {};
  Ready ready_[kAtOnce];
};

}  // namespace scela::hca
