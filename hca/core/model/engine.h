// The adapter's interpreter: it owns the objects and their state machines, and executes requests.
// Server (hca/engine/daemon/engine_server.h) owns one, and its loop calls it.
//
// It is pure: it has no clock (the caller passes the time), no socket and no thread. All calls must
// come from one thread; none blocks. It uses its machine through a Host;
// hca/core/wire/shared_layout.h describes the memory that it shares with processes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "hca/core/model/host.h"
#include "hca/core/model/process_counters.h"
#include "hca/core/wire/engine_messages.h"

namespace scela::hca {

// Nanoseconds of any clock that never goes back.
using Moment = std::uint64_t;

// The faults that the adapter injects on purpose (SCELA_HCA_FAULTS). Each of the first five is a
// rate: so many in a thousand of the messages that its comment names.
struct Faults {
  std::uint32_t ud_lost = 0;   // datagrams that do not arrive
  std::uint32_t ud_twice = 0;  // datagrams that arrive twice
  // Messages that need a receive request and are answered as if there were none.
  std::uint32_t not_ready = 0;
  // Messages of reliable queue pairs that are treated as never received.
  std::uint32_t unanswered = 0;
  // Datagrams that arrive 0.1 to 2 ms late, behind later ones.
  std::uint32_t ud_late = 0;
  // The engine executes nothing for so many microseconds after it has begun a request.
  std::uint32_t slow_us = 0;
  // After so many requests the engine dies in place of the next one; 0 means that it does not.
  std::uint32_t dies_after = 0;
};

class TraceSink;  // trace_sink.h

// The identity of the device and the abilities that it reports.
struct Settings {
  std::uint64_t guid = 1;
  std::uint16_t first_lid = 1;  // of port 1; port 2 has the next one
  // The GID of port 1; the last byte of port 2's GID is one more.
  Gid gid;
  bool open_qp = true;  // false: no ibv_open_qp
  bool xrc = true;      // false: no XRC
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

  // Adds a process that opens the device. The caller chooses its number, which it has not used
  // before. `page` is the process's page of doorbells, which must stay mapped until detach().
  void attach(ProcessId process, ProcessPage& page);
  // Removes a process that has closed the device or died, and destroys all of its objects. Its
  // peers notice it as they notice that a node is gone. An unknown process is ignored.
  void detach(ProcessId process);

  // Carries out a request of a process, such as to make a queue pair
  // (hca/core/wire/engine_messages.h), before it returns. Returns the answer; a failure is an errno
  // in it.
  Answer ask(ProcessId process, const Ask& ask);

  // Takes the doorbells and executes posted requests, a bounded number of them and of bytes. `now`
  // is the present time. Returns true if there is more to do at once, and false if the caller may
  // sleep until a doorbell, a frame or deadline().
  bool run(Moment now);
  // Returns true if a doorbell of any process is set. The caller checks this after it has announced
  // its sleep (may_sleep() in hca/core/wire/doorbells.h) and before it sleeps.
  bool wanted() const;
  // Returns the time at which run() must be called even if no doorbell rings, or std::nullopt if
  // there is none.
  std::optional<Moment> deadline() const;
  // Returns true after Faults::dies_after requests: the engine does nothing more, and its process
  // must end as if killed.
  bool has_died() const;

  // Returns the figures of all processes. It counts all objects at each call.
  NodeCounters counters() const;
  // Sets the observer of the engine's work; null removes it. The observer must live as long as the
  // engine, or until another replaces it.
  void watch(TraceSink* trace_sink);

  // Executes a frame that came from another node's engine (hca/core/wire/engine_frame.h), or keeps
  // a copy of it until it can be executed. `node` is the number, not 0, by which OtherNodes knows
  // that node. Returns false if the bytes are no valid frame; the caller must then drop the
  // connection to that node.
  bool receive(std::uint32_t node, std::span<const std::byte> frame, Moment now);
  // Lets the queue pairs run that wait for the node. The caller calls it when OtherNodes::ready()
  // would return true for that node again.
  void writable(std::uint32_t node);
  // Tells the engine that the connection to that node has ended: frames on their way are lost.
  // Reliable queue pairs send again what was not answered, after their timeout.
  void lost(std::uint32_t node, Moment now);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::hca
