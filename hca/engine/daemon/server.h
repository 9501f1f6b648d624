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
#include "hca/engine/daemon/machine.h"
#include "hca/engine/daemon/runtime_dir.h"
#include "hca/engine/daemon/status.h"
#include "hca/engine/daemon/trace_file.h"
#include "hca/engine/io/patience.h"
#include "hca/engine/io/poller.h"
#include "hca/engine/net/connection.h"
#include "hca/engine/net/fabric.h"
#include "hca/engine/net/pending_handshakes.h"

namespace scela::hca {

class Server {
 public:
  struct Rules {
    Settings settings;
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
         Poller poller, SealedMemory page);

  Result<void> set_up();
  void run();

  // The loop is in loop.cpp.
  void sleep();
  bool spin();
  bool is_alone() const;
  bool look(std::optional<std::uint64_t> most);
  void take(const Poller::Ready& ready);
  void attend_to_machine();

  // Connections are in server.cpp.
  void accept_all();
  void talk(ProcessId id);
  // Returns false if the connection ends.
  bool answer(ProcessId id, Served& served, const Ask& ask, Connection::Handed& handed);
  // Registers the memory file that a process hands over.
  Answer share(ProcessId id, const Ask& ask, Connection::Handed& handed);
  bool attach(ProcessId id, Served& served, const Ask& ask);
  // Takes a process's description of the job (joining.cpp), and wipes it.
  bool join(Served& served, std::string& record);
  bool confirm(Served& served) const;
  bool make_channel(ProcessId id, Answer& answer, Fd& theirs);
  void drop(ProcessId id);
  void drop_the_silent(Moment now);
  // Reports the error at most once a second, because it may recur at every look.
  void complain(const std::string& what);
  bool refuse(const Served& served, int error) const;
  void tell_settings();
  EngineStatus status() const;

  // The end is in loop.cpp.
  void leave_home();
  void expect_somebody();
  void end_if_idle();

  Rules rules_;
  EngineRuntimeDir* home_;
  Fd listening_;
  Poller poller_;
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
