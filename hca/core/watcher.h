// Who looks on while the interpreter works: a trace. Without one nothing is told, and it costs a
// look at a pointer.
#pragma once

#include "hca/core/engine.h"
#include "hca/core/layout.h"

namespace scela::hca {

class Watcher {
 public:
  virtual ~Watcher() = default;

  struct Request {
    ProcessId process = 0;
    std::uint32_t qpn = 0;
    QpType type = QpType::rc;
    Opcode opcode = Opcode::send;
    std::uint64_t wr_id = 0;
    std::uint64_t bytes = 0;
  };

  // Its clock.
  virtual Moment time() = 0;
  // The engine has seen it in its queue.
  virtual void posted(const Request& request) = 0;
  // It was taken from its queue at `began`, and is over now; a task that waits is taken before.
  virtual void executed(const Request& request, Moment began, Status status) = 0;
  // The process is told.
  virtual void completed(ProcessId process, const Completion& completion) = 0;
  // The process slept until a completion.
  virtual void woken(ProcessId process) = 0;
};

}  // namespace scela::hca
