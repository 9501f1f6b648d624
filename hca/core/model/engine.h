// The adapter's interpreter: it owns the objects and their state machines, and executes requests.
//
// It is pure: it has no clock (the caller passes the time), no socket and no thread. All calls must
// come from one thread. It uses its machine through a Host; hca/core/wire/layout.h describes the
// memory that it shares with processes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "hca/core/model/accounts.h"
#include "hca/core/model/host.h"
#include "hca/core/wire/messages.h"

namespace scela::hca {

// Nanoseconds of any clock that never goes back.
using Moment = std::uint64_t;

// The faults that the adapter injects on purpose. The first five are rates in a thousand of:
struct Faults {
  std::uint32_t ud_lost = 0;     // datagrams
  std::uint32_t ud_twice = 0;    // datagrams
  std::uint32_t not_ready = 0;   // messages that take a receive request
  std::uint32_t unanswered = 0;  // messages of reliable queue pairs
  // Datagrams that arrive behind later ones, up to 2 ms late.
  std::uint32_t ud_late = 0;
  // The engine rests so many microseconds after it has begun a request.
  std::uint32_t slow_us = 0;
  // The engine dies in place of the request after so many; 0 means that it does not.
  std::uint32_t dies_after = 0;
};

class TraceSink;  // trace_sink.h

struct Settings {
  std::uint64_t guid = 1;
  std::uint16_t first_lid = 1;  // of port 1; port 2 has the next one
  // The GID of port 1; the last byte of port 2's GID is one more.
  Gid gid;
  bool open_qp = true;  // some adapters have no ibv_open_qp
  bool xrc = true;      // some adapters have no XRC
  // If this is not 0, the engine is strict: never kinder than hardware. Queue pairs take turns, and
  // their completions arrive, in an order drawn from this seed. The buffer of a message or a read
  // holds other bytes until the transfer is complete.
  std::uint64_t seed = 0;
  Faults faults;
};

class Engine {
 public:
  // `host` must live as long as the engine.
  Engine(Host& host, const Settings& settings);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // A process opens the device. The caller chooses its number; `page` is in its first chunk.
  void attach(ProcessId process, ProcessPage& page);
  // The process has closed the device or died: the engine destroys all of its objects. Peers notice
  // it as they notice that a node is gone.
  void detach(ProcessId process);

  // Carries out a request at once (hca/core/wire/messages.h). A failure is an errno in the answer.
  Answer ask(ProcessId process, const Ask& ask);

  // Takes the doorbells and executes requests for a bounded time: some hundred requests or some
  // megabytes. Returns true if there is more to do at once.
  bool run(Moment now);
  // Returns whether a doorbell is set. The caller checks this after it has set "asleep" and before
  // it sleeps.
  bool wanted() const;
  // Returns the time at which run() must be called even if no doorbell rings.
  std::optional<Moment> deadline() const;
  // Returns true after Faults::dies_after: the engine does nothing more, and its process must end
  // as if killed.
  bool has_died() const;

  // Counts all objects anew at each call.
  Accounts accounts() const;
  // Null removes the trace sink. The trace sink must live as long as the engine, or until another
  // replaces it.
  void watch(TraceSink* trace_sink);

  // Takes a frame of another node's engine (hca/core/wire/wire.h). Returns false if the bytes are
  // no valid frame; the caller must then drop the connection to that node.
  bool receive(std::uint32_t node, std::span<const std::byte> frame, Moment now);
  // OtherNodes::ready would return true for that node again.
  void writable(std::uint32_t node);
  // The connection to that node has ended: frames on their way are lost.
  void lost(std::uint32_t node, Moment now);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::hca
