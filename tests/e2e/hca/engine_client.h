// A real scela-hca, and bare processes that speak to it as the library does.
#pragma once

#include <string>
#include <vector>

#include "common/os/sealed_memory.h"
#include "hca/core/wire/engine_messages.h"

namespace scela::test {

// An engine in a directory of its own. The destructor ends it and removes the directory.
class EngineProcess {
 public:
  // `told`: the text that the engine is given of its job, by --fabric-fd. Empty: it is told
  // nothing.
  explicit EngineProcess(std::vector<std::string> options = {}, std::string told = {});
  ~EngineProcess();
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // Starts another engine at the same place, once the last has ended.
  void start();
  void signal(int signo) const;
  // Waits until the engine has ended, and returns its wait status.
  int wait();
  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

  const std::string& directory() const { return directory_; }
  std::string socket() const { return directory_ + "/socket"; }
  // Returns what the engine has written to its standard error so far.
  std::string said() const;
  // Lists the files of its directory. An engine that ended well leaves "lock" alone.
  std::vector<std::string> files() const;

 private:
  std::vector<std::string> options_;
  std::string told_;
  std::string directory_;
  Fd said_;
  pid_t pid_ = 0;
};

// The engine's answer to a process, with the descriptors that came with it.
struct Reply {
  bool came = false;  // false: the engine has closed the connection
  hca::Answer answer;
  std::vector<Fd> descriptors;
};

class Client {
 public:
  explicit Client(const std::string& socket);
  // Returns false if no engine listens at the place.
  bool connected() const { return connection_.valid(); }

  bool send(const void* bytes, std::size_t count) const;
  Reply receive() const;
  Reply ask(const hca::Ask& ask) const;
  Reply ask(hca::Operation operation) const;

  // Says hello, and maps all that comes with the answer.
  void hello();
  // Maps the new chunks of an answer; `first`: how many other descriptors come before them.
  void take_chunks(Reply& reply, std::size_t first);
  std::byte* at(const hca::Region& region) const;

  hca::ProcessPage& page() const;
  hca::EnginePage& engine() const;
  void ring(std::uint32_t doorbell) const;

  const Fd& connection() const { return connection_; }
  const Fd& events() const { return events_; }
  std::size_t chunks() const { return chunks_.size(); }

 private:
  Fd connection_;
  Fd wake_;
  Fd events_;
  std::vector<SealedMemory> engine_;
  std::vector<SealedMemory> chunks_;
};

// Returns true if the descriptor is at its end, now or within the time that a failing test may
// take.
bool sees_end(const Fd& descriptor);

}  // namespace scela::test
