// The engine's process: its connections, and the loop that runs the interpreter. The main function
// of scela-hca calls serve().
//
// There is one thread. While there is work, it looks at posted requests without a system call.
// Before it sleeps it says so on its page, so the next process that posts a request wakes it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/os/sealed_memory.h"
#include "hca/core/model/engine.h"
#include "hca/core/wire/variables.h"
#include "hca/engine/daemon/connection.h"
#include "hca/engine/daemon/machine.h"
#include "hca/engine/daemon/pending_handshakes.h"
#include "hca/engine/daemon/runtime_dir.h"
#include "hca/engine/daemon/status.h"
#include "hca/engine/daemon/trace_file.h"
#include "hca/engine/io/patience.h"
#include "hca/engine/io/tagged_poller.h"
#include "hca/engine/net/fabric.h"

namespace scela::hca {

class Server {
 public:
  struct Rules {
    Settings settings;
    // If true, the engine ends once no process is connected.
    bool until_idle = false;
    std::string trace;  // path of a file; empty: no trace
    std::string version;
    bool encrypt = false;  // from this engine's own environment
    // The variables in its environment, as its processes are told of them (EngineMemory).
    std::array<std::uint64_t, kEngineVariables> settings_told{};
    std::vector<std::string> complaints;  // reported once it serves
    // Nanoseconds in which a new connection must say that it uses the engine. After that it is
    // dropped: a silent process must not keep an engine alive.
    Moment silence = 10'000'000'000;
  };

  // Runs the engine until it ends. `listening` was made under the home's lock. If `home` is null,
  // another process also holds the socket. That process starts the next engine for connections that
  // come after this one has ended. If `fabric` is null, there are no other nodes. The engine writes
  // one byte to `ready` (-1: none) once it serves.
  static Result<void> serve(const Rules& rules, EngineRuntimeDir* home, Fd listening,
                            std::unique_ptr<Fabric> fabric, int ready);

 private:
  struct Served {
    Connection connection;
    Fd wake = Fd();  // the process wakes the engine with it
    bool attached = false;
    bool joined = false;  // it told the job and keeps the engine
  };

  Server(const Rules& rules, EngineRuntimeDir* home, Fd listening, std::unique_ptr<Fabric> fabric,
         TaggedPoller poller, SealedMemory page);

  // Opens the trace, blocks the signals that end the engine, and watches the descriptors. Returns
  // an error if one of these fails.
  Result<void> set_up();
  void run();

  // The loop is in loop.cpp. sleep() sleeps until a doorbell, a descriptor or a deadline, and
  // handles what is ready. It does not sleep if requests are there.
  void sleep();
  // Looks at the doorbells for a while. Returns true if there is work, so the engine must not
  // sleep. Returns false if none came, or if spinning does not pay (Patience).
  bool spin();
  // Returns true if there are processes, and none may run on the engine's processors.
  bool is_alone() const;
  // Handles the descriptors that become ready within `most` nanoseconds (std::nullopt: no limit).
  // Returns true if one was neither a doorbell nor of another node.
  bool look(std::optional<std::uint64_t> most);
  // Handles one descriptor that is ready.
  void take(const TaggedPoller::Ready& ready);
  // Watches the event sockets that are full, and drops processes that do not read their events.
  void attend_to_machine();

  // Connections are in server.cpp.
  void accept_all();
  // Answers what has come on the connection, at most 16 questions, and drops the connection if it
  // ends.
  void talk(ProcessId id);
  // Returns false if the connection ends.
  bool answer(ProcessId id, Served& served, const Ask& ask, Connection::Handed& handed);
  // Registers the memory file that a process hands over.
  Answer share(ProcessId id, const Ask& ask, Connection::Handed& handed);
  // Answers `hello`, the first question of a process. Returns false if the connection ends.
  bool attach(ProcessId id, Served& served, const Ask& ask);
  // Takes a process's description of the job (joining.cpp), and wipes it. Returns false if the
  // connection ends.
  bool join(Served& served, std::string& record);
  // Answers that the job is known, and notes that the process keeps the engine. Returns false if
  // the answer cannot be sent.
  bool confirm(Served& served) const;
  // Makes the sockets of a completion channel; `theirs` is the process's end. If it fails, it
  // destroys the channel, puts EMFILE into the answer and returns false. The connection goes on.
  bool make_channel(ProcessId id, Answer& answer, Fd& theirs);
  // Ends the connection, and detaches its process. It does nothing if there is no such connection.
  void drop(ProcessId id);
  void drop_the_silent(Moment now);
  // Reports the error at most once a second, because it may recur at every look.
  void complain(const std::string& what);
  // Answers with the errno. Always returns false: the caller returns that, and the connection ends.
  bool refuse(const Served& served, int error) const;
  // Writes the settings to the shared memory, where processes read them.
  void tell_settings();
  EngineStatus status() const;

  // The end is in loop.cpp. leave_home() is called when a signal has asked the engine to end. It
  // removes the socket, even if another process has the lock.
  void leave_home();
  // If `until_idle` is set, these two end the engine. The first sets the time, the second ends the
  // engine unless a process has connected meanwhile.
  void expect_somebody();
  void end_if_idle();

  Rules rules_;
  EngineRuntimeDir* home_;
  Fd listening_;
  TaggedPoller poller_;
  SealedMemory page_memory_;
  EngineMemory& memory_;
  EnginePage& page_;
  std::unique_ptr<Fabric> fabric_;
  bool was_told_ = false;  // its starter has named the job
  Machine machine_;
  Engine engine_;
  Fd signals_;
  std::unordered_map<ProcessId, Served> served_;
  std::size_t attached_ = 0;
  PendingHandshakes pending_;
  ProcessId next_ = 1;
  Patience patience_;
  Moment look_at_places_ = 0;
  // Runs of the interpreter.
  std::uint64_t runs_ = 0;
  Moment complain_again_ = 0;
  std::uint64_t heard_ = 0;  // times that other nodes sent something
  std::uint64_t sleeps_ = 0;
  std::uint64_t doorbells_ = 0;  // sleeps that a doorbell has ended
  std::optional<TraceFile> trace_;
  std::optional<Moment> idle_until_;  // when to end if no process comes
  bool over_ = false;
};

}  // namespace scela::hca
