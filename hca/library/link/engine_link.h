// The connection of an open device to its engine: questions, and the memory that both share. A
// question is an Ask (hca/core/wire/engine_messages.h). The memory consists of chunks, and a region
// names a range of one. Each open device (hca/library/objects/context.h) has one link.
//
// Any thread may ask; the link sends one question at a time and blocks until its answer comes. A
// link that has broken stays broken: every further question fails with EIO.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "common/os/fd.h"
#include "common/os/sealed_memory.h"
#include "hca/core/wire/doorbells.h"
#include "hca/core/wire/engine_messages.h"
#include "hca/library/link/helper.h"
#include "hca/library/link/service.h"

namespace scela::hca::library {

// The socket, the shared memory, and the two helpers that move bytes for the engine.
class EngineLink {
 public:
  EngineLink() = default;
  // Shuts the connection down for every process that holds it: a child of this process may still
  // have a copy.
  ~EngineLink();
  // Connects to the engine, which it starts if need be, and attaches this process. Blocks
  // meanwhile. Returns 0 or an errno; `why` then says what was tried.
  int open(std::string& why);

  // Sends the question and waits for the engine's answer. `handed` is an array of `wanted`
  // descriptors, which receives those that come beside chunks. If another number comes, the error
  // is EPROTO. It is EIO if the engine is gone.
  Answer ask(const Ask& ask, Fd* handed = nullptr, std::size_t wanted = 0) {
    return converse(ask, -1, handed, wanted);
  }
  // Sends the question together with that file, and waits for the answer.
  Answer hand_over(const Ask& ask, const Fd& file) { return converse(ask, file.get(), nullptr, 0); }

  // Returns where this process maps the region. Returns null if the region is empty, smaller than
  // `at_least` bytes, or not within the chunks.
  std::byte* at(const Region& region, std::uint64_t at_least);
  // Ends the use of a region after its queue has gone. Memory that was made for that queue alone is
  // unmapped.
  void release(const Region& region);

  // Set a queue's doorbell, which says that it has a new request. mark() reaches an engine that is
  // awake; ring() also wakes it.
  void mark(std::uint32_t doorbell) { hca::mark(*page_, doorbell); }
  void ring(std::uint32_t doorbell) {
    if (hca::ring(*page_, *engine_page_, doorbell)) wake();
  }

  // Blocks until the engine no longer touches any memory that it has released (Service::settle()).
  void settle() const { service_.settle(); }

  // Called after a poll that found nothing: moves a part of a long message if the engine offers one
  // (Helper). Returns true if a part was moved, or could not be moved. Another part may come soon
  // then.
  bool help() {
    return helper_.help([this] { return look(); });
  }
  // Returns true if a part may be on offer. A thread then calls help() before it sleeps.
  bool help_is_wanted() const { return helper_.is_wanted(); }

  // Returns true if the connection is known to be broken. look() and every question find that out.
  bool gone() const { return gone_.load(std::memory_order_acquire); }
  // Checks whether the engine still holds its end of the connection, without waiting. Returns true
  // if it is gone.
  bool look();

  // These are valid once open() has returned 0. They return this process's page of doorbells, the
  // engine's description of the device, the socket, and the descriptor of asynchronous events.
  ProcessPage& page() { return *page_; }
  const Device& device() const { return device_; }
  int socket() const { return socket_.get(); }
  int events() const { return events_.get(); }

 private:
  // Writes to the eventfd on which the engine sleeps.
  void wake();
  // Connects, and sends `hello` until an engine answers, at most three times. `fds` are the
  // descriptors that come with the answer. Returns 0 or an errno.
  int greet(const Ask& hello, Answer& answer, std::vector<Fd>& fds, std::string& why);
  // Does the work of ask() and hand_over(). `file` is -1 if none is sent.
  Answer converse(const Ask& ask, int file, Fd* handed, std::size_t wanted);
  // Sends one datagram and receives one, with its descriptors in `fds`. Returns false if the engine
  // is gone or breaks the protocol.
  bool exchange(const Ask& ask, int file, Answer& answer, std::vector<Fd>& fds);
  // Maps the chunks in `fds` from index `from` on. Returns false if one of them cannot be mapped.
  bool take_chunks(std::vector<Fd>& fds, std::size_t from);
  // Starts the Service on the area of orders, which lies in `file`. Returns false if that fails.
  bool serve(const Region& area, Fd file);

  std::mutex mutex_;
  Fd socket_;
  // The eventfd of wake(), and the descriptor of asynchronous events.
  Fd wake_;
  Fd events_;
  std::vector<SealedMemory> chunks_;
  std::vector<SealedMemory> engine_memory_;  // empty, or one after open()
  ProcessPage* page_ = nullptr;
  EnginePage* engine_page_ = nullptr;
  Device device_;
  std::atomic<bool> gone_{false};
  Helper helper_;
  OrderThread service_;  // destroyed before what it uses
};

}  // namespace scela::hca::library
