// The engine's process: its connections, and the loop that runs the interpreter.
//
// One thread. What processes post is looked at without a system call while there is work; before
// it sleeps the engine says so on its page, so that the next who posts something wakes it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/os/sealed_memory.h"
#include "hca/core/engine.h"
#include "hca/core/variables.h"
#include "hca/engine/connection.h"
#include "hca/engine/fabric.h"
#include "hca/engine/home.h"
#include "hca/engine/machine.h"
#include "hca/engine/newcomers.h"
#include "hca/engine/patience.h"
#include "hca/engine/poller.h"
#include "hca/engine/status.h"
#include "hca/engine/trace_file.h"

namespace scela::hca {

class Server {
 public:
  struct Rules {
    Settings settings;
    bool until_idle = false;
    std::string trace;  // a file; empty: none
    std::string version;
    bool encrypt = false;  // the wish of this engine's own environment
    // What its environment has told it, for its processes (EngineMemory).
    std::array<std::uint64_t, kEngineVariables> settings_told{};
    std::vector<std::string> complaints;  // said once it serves
    // Who connects and does not say within this that it uses the engine is dropped: what is silent
    // keeps no engine alive.
    Moment silence = 10'000'000'000;
  };

  // `listening` was made under the home's lock; without a home it is somebody else's as well, who
  // sees to it that those who come when this engine has ended find another. Without a fabric there
  // are no other nodes.
  static Result<void> serve(const Rules& rules, Home* home, Fd listening,
                            std::unique_ptr<Fabric> fabric, int ready);

 private:
  struct Served {
    Connection connection;
    Fd wake = Fd();  // by which it wakes this process
    bool attached = false;
    bool joined = false;  // it has told the job, and keeps the engine there
  };

  Server(const Rules& rules, Home* home, Fd listening, std::unique_ptr<Fabric> fabric,
         Poller poller, SealedMemory page);

  Result<void> set_up();
  void run();

  // The loop (loop.cpp).
  void sleep();
  bool spin();
  bool is_alone() const;
  bool look(std::optional<std::uint64_t> most);
  void take(const Poller::Ready& ready);
  void attend_to_machine();

  // Connections (server.cpp).
  void accept_all();
  void talk(ProcessId id);
  // False: the connection ends.
  bool answer(ProcessId id, Served& served, const Ask& ask, Connection::Handed& handed);
  // Registers what is handed over.
  Answer share(ProcessId id, const Ask& ask, Connection::Handed& handed);
  bool attach(ProcessId id, Served& served, const Ask& ask);
  // What a process says of the job (joining.cpp). It is wiped.
  bool join(Served& served, std::string& record);
  bool confirm(Served& served) const;
  bool make_channel(ProcessId id, Answer& answer, Fd& theirs);
  void drop(ProcessId id);
  void drop_the_silent(Moment now);
  // At most once a second: it may come again at every look.
  void complain(const std::string& what);
  bool refuse(const Served& served, int error) const;
  void tell_settings();
  EngineStatus status() const;

  // The end (loop.cpp).
  void leave_home();
  void expect_somebody();
  void end_if_idle();

  Rules rules_;
  Home* home_;
  Fd listening_;
  Poller poller_;
  SealedMemory page_memory_;
  EngineMemory& memory_;
  EnginePage& page_;
  std::unique_ptr<Fabric> fabric_;
  bool was_told_ = false;  // of its job, by whoever started it
  Machine machine_;
  Engine engine_;
  Fd signals_;
  std::unordered_map<ProcessId, Served> served_;
  std::size_t attached_ = 0;
  Newcomers newcomers_;
  ProcessId next_ = 1;
  Patience patience_;
  Moment look_at_places_ = 0;
  std::uint64_t runs_ = 0;
  Moment complain_again_ = 0;
  std::uint64_t heard_ = 0;  // how often something came from other nodes
  std::uint64_t sleeps_ = 0;
  std::uint64_t bells_ = 0;  // sleeps that a bell has ended
  std::optional<TraceFile> trace_;
  std::optional<Moment> idle_until_;  // when to end if nobody is there
  bool over_ = false;
};

}  // namespace scela::hca
