// A real scela-hca, and bare processes that speak to it as the library does.
#pragma once

#include <string>
#include <vector>

#include "common/os/sealed_memory.h"
#include "hca/core/messages.h"

namespace scela::test {

// An engine of a directory of its own; ended and removed with this.
class EngineProcess {
 public:
  // `told`: what it is told of its job, by --fabric-fd; empty: nothing.
  explicit EngineProcess(std::vector<std::string> options = {}, std::string told = {});
  ~EngineProcess();
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // Another one at the same place, once the last has ended.
  void start();
  void signal(int signo) const;
  // Its wait status.
  int wait();
  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

  const std::string& directory() const { return directory_; }
  std::string socket() const { return directory_ + "/socket"; }
  // What it wrote to its standard error so far.
  std::string said() const;
  // Of its directory: "lock" alone is left of an engine that ended well.
  std::vector<std::string> files() const;

 private:
  std::vector<std::string> options_;
  std::string told_;
  std::string directory_;
  Fd said_;
  pid_t pid_ = 0;
};

// What a process gets with an answer.
struct Reply {
  bool came = false;  // false: the engine has closed the connection
  hca::Answer answer;
  std::vector<Fd> descriptors;
};

class Client {
 public:
  explicit Client(const std::string& socket);
  // Empty: nobody listens there.
  bool connected() const { return connection_.valid(); }

  bool send(const void* bytes, std::size_t count) const;
  Reply receive() const;
  Reply ask(const hca::Ask& ask) const;
  Reply ask(hca::Operation operation) const;

  // hello, and all that comes with it is mapped.
  void hello();
  // Maps the new chunks of an answer; `first`: how many other descriptors come before them.
  void take_chunks(Reply& reply, std::size_t first);
  std::byte* at(const hca::Region& region) const;

  hca::ProcessPage& page() const;
  hca::EnginePage& engine() const;
  void ring(std::uint32_t bell) const;

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

// End of file, now or within the time that a failing test may take.
bool sees_end(const Fd& descriptor);

}  // namespace scela::test
