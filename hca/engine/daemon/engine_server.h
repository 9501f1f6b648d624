// The engine's process: its connections, and the loop that runs the interpreter. The main function
// of scela-hca calls serve().
//
// There is one thread. While there is work, it looks at posted requests without a system call.
// Before it sleeps it announces that on its page (EnginePage), so the next process that posts a
// request wakes it. To spin means to look at the doorbells for a while instead of sleeping.
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
#include "hca/engine/daemon/client_connection.h"
#include "hca/engine/daemon/engine_status.h"
#include "hca/engine/daemon/machine.h"
#include "hca/engine/daemon/pending_handshakes.h"
#include "hca/engine/daemon/runtime_dir.h"
#include "hca/engine/daemon/trace_file.h"
#include "hca/engine/io/patience.h"
#include "hca/engine/io/tagged_poller.h"
#include "hca/engine/net/fabric.h"

namespace scela::hca {

// The one server of an engine's process, from serve() to its end.
class Server {
 public:
  // The settings of the engine, from its options and its environment.
  struct Rules {
    Settings settings;
    // If true, the engine ends once no process is connected.
    bool until_idle = false;
    std::string trace;  // path of a file; empty: no trace
    std::string version;
    bool encrypt = false;  // its own environment asks for it
    // The marks of the variables in its environment (mark_of()), by which processes learn of them
    // (EngineMemory).
    std::array<std::uint64_t, kEngineVariables> settings_told{};
    // Lines that are written once the engine serves.
    std::vector<std::string> complaints;
    // Nanoseconds in which a new connection must say that it uses the engine. After that it is
    // dropped: a silent process must not keep an engine alive.
    Moment silence = 10'000'000'000;
  };

  // Runs the engine; blocks until it ends. `home` is the directory of the socket `listening`, which
  // was made under the directory's lock. If `home` is null, another process also holds the socket.
  // That process starts the next engine for connections that come after this one has ended. If
  // `fabric` is null, there are no other nodes. The engine writes one byte to the descriptor
  // `ready` (-1: none) once it serves. Returns an error if it cannot begin.
  static Result<void> serve(const Rules& rules, EngineRuntimeDir* home, Fd listening,
                            std::unique_ptr<Fabric> fabric, int ready);

 private:
  // A process that is connected, and perhaps attached (it has sent `hello`).
  struct Served {
    Connection connection;
    Fd wake = Fd();  // the process wakes the engine with it
    bool attached = false;
    bool joined = false;  // it told the job and keeps the engine
  };

  Server(const Rules& rules, EngineRuntimeDir* home, Fd listening, std::unique_ptr<Fabric> fabric,
         TaggedPoller poller, SealedMemory page);

  // Opens the trace, blocks the signals that end the engine, and adds the descriptors to the
  // poller. Returns an error if one of these fails.
  Result<void> set_up();
  // Runs the loop until the engine ends.
  void run();

  // The functions of the loop are in loop.cpp. sleep() blocks until a doorbell, a descriptor or a
  // deadline, and handles what is ready. It does not block if requests are there.
  void sleep();
  // Spins for a while. Returns true if there is work, so the engine must not sleep. Returns false
  // if none came, or if spinning does not pay (Patience).
  bool spin();
  // Returns true if processes are attached, and none of them may run on the engine's processors.
  bool is_alone() const;
  // Handles the descriptors that become ready within `most` nanoseconds (std::nullopt: no limit).
  // Returns true if one was neither a process's eventfd nor a connection to another node.
  bool look(std::optional<std::uint64_t> most);
  // Handles one descriptor that is ready.
  void take(const TaggedPoller::Ready& ready);
  // Watches the event sockets that are full, and drops processes that do not read their events.
  void attend_to_machine();

  // The functions for connections are in engine_server.cpp. accept_all() accepts the processes that
  // wait, and refuses those of other users.
  void accept_all();
  // Answers the messages that have come on the connection, at most 16. Drops the connection if it
  // ends.
  void serve_requests(ProcessId id);
  // Carries out a request and sends the answer. Returns false if the connection must be dropped.
  bool answer(ProcessId id, Served& served, const Ask& ask, Connection::Handed& handed);
  // Carries out reg_pool: maps the memory file that a process hands over, and registers it. Returns
  // the answer.
  Answer share(ProcessId id, const Ask& ask, Connection::Handed& handed);
  // Carries out `hello`, the first request of a process. Returns false if the connection must be
  // dropped.
  bool attach(ProcessId id, Served& served, const Ask& ask);
  // Applies a process's description of the job (joining.cpp), and wipes it. Returns false if the
  // connection must be dropped.
  bool join(Served& served, std::string& record);
  // Sends success as the answer to join(), and notes that the process keeps the engine. Returns
  // false if the answer cannot be sent.
  bool confirm(Served& served) const;
  // Makes the sockets of a new completion channel; `theirs` is the process's end. If it fails, it
  // destroys the channel, puts EMFILE into the answer and returns false. The connection goes on.
  bool make_channel(ProcessId id, Answer& answer, Fd& theirs);
  // Closes the connection, and detaches its process. It does nothing if there is no such
  // connection.
  void drop(ProcessId id);
  // Drops the connections that have not said in time that they use the engine.
  void drop_the_silent(Moment now);
  // Writes the line to the standard error, at most one each second, because its cause may recur at
  // every look.
  void complain(const std::string& what);
  // Sends the errno as the answer. Always returns false: the caller returns that, and the
  // connection is dropped.
  bool refuse(const Served& served, int error) const;
  // Writes the marks of the settings to the shared memory (EngineMemory), where processes read
  // them.
  void tell_settings();
  // Returns the figures for `scela-hca --status`.
  EngineStatus status() const;

  // The functions for the end are in loop.cpp. remove_socket() is called when a signal has asked
  // the engine to end. It removes the socket, even if another process has the lock.
  void remove_socket();
  // These two do nothing unless Rules::until_idle is true. begin_idle_wait() is called when no
  // process is connected, and sets the time at which the engine ends. end_if_idle() ends it unless
  // a process has connected meanwhile.
  void begin_idle_wait();
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
  std::size_t attached_ = 0;  // processes that are attached
  PendingHandshakes pending_;
  ProcessId next_ = 1;  // number of the next connection
  Patience patience_;
  // When to check again which processors the processes may use.
  Moment check_processors_at_ = 0;
  // Runs of the interpreter.
  std::uint64_t runs_ = 0;
  Moment complain_again_ = 0;  // complain() writes nothing before
  std::uint64_t heard_ = 0;    // times that other nodes sent something
  std::uint64_t sleeps_ = 0;
  std::uint64_t doorbells_ = 0;  // sleeps that a doorbell has ended
  std::optional<TraceFile> trace_;
  std::optional<Moment> idle_until_;  // when to end if no process comes
  bool over_ = false;                 // the loop ends
};

}  // namespace scela::hca
