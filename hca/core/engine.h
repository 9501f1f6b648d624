// The adapter's interpreter: objects, state machines, and the execution of requests.
//
// Pure: no clock (times come in), no socket, no thread. One thread calls it. What it needs of its
// machine it asks of a Host; what it shares with processes is laid out in layout.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "hca/core/accounts.h"
#include "hca/core/host.h"
#include "hca/core/messages.h"

namespace scela::hca {

// Nanoseconds of any clock that never goes back.
using Moment = std::uint64_t;

// What the adapter does wrong on purpose. Each so many times in a thousand:
struct Faults {
  std::uint32_t ud_lost = 0;     // datagrams
  std::uint32_t ud_twice = 0;    // datagrams
  std::uint32_t not_ready = 0;   // messages that would take a receive request
  std::uint32_t unanswered = 0;  // messages of reliable queue pairs
  std::uint32_t ud_late = 0;     // datagrams: they arrive behind others, up to 2 ms later
  // With every request.
  std::uint32_t slow_us = 0;     // microseconds that the engine rests after it has begun one
  std::uint32_t dies_after = 0;  // requests, in place of the next of which it dies; 0: it does not
};

class Watcher;  // watcher.h

struct Settings {
  std::uint64_t guid = 1;
  std::uint16_t first_lid = 1;  // of port 1; port 2 has the next one
  Gid gid;                      // of port 1; the last byte of port 2's is one more
  bool open_qp = true;          // some adapters have no ibv_open_qp
  bool xrc = true;              // and some no XRC
  // Not 0: never kinder than hardware. Queue pairs take turns, and their completions come, in an
  // order drawn from this; what a message or a read is to fill holds other bytes until it is
  // complete.
  std::uint64_t seed = 0;
  Faults faults;
};

class Engine {
 public:
  Engine(Host& host, const Settings& settings);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // A process opens the device; `page` is in its first chunk. Its number is the caller's.
  void attach(ProcessId process, ProcessPage& page);
  // It closed the device, or died: all that it had goes; others find out as they would find out
  // that a node has gone.
  void detach(ProcessId process);

  Answer ask(ProcessId process, const Ask& ask);

  // Looks at the bells and executes what can be executed, for a bounded time (some hundred requests
  // or some megabytes). True: there is more to do at once.
  bool run(Moment now);
  // Whether a bell is set: what to look at between saying "asleep" and sleeping.
  bool wanted() const;
  // When to call run() again though no bell rings.
  std::optional<Moment> deadline() const;
  // By Faults::dies_after: it does nothing any more, and its process is to end as if killed.
  bool has_died() const;

  Accounts accounts() const;
  // Null: nobody. It lives as long as the engine, or until another takes its place.
  void watch(Watcher* watcher);

  // A frame of another node's engine (wire.h). False: it is none, and its sender is to be dropped.
  bool receive(std::uint32_t node, std::span<const std::byte> frame, Moment now);
  // Host::ready would say yes again.
  void writable(std::uint32_t node);
  // The connection to that node has ended: what was on its way is lost.
  void lost(std::uint32_t node, Moment now);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::hca
