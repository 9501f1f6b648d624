// The interface of an observer of the interpreter's work, such as a trace
// (hca/engine/daemon/trace_file.h). The interpreter calls it from its one thread. Without an
// observer it only checks a pointer.
#pragma once

#include "hca/core/model/engine.h"
#include "hca/core/wire/shared_layout.h"

namespace scela::hca {

class TraceSink {
 public:
  virtual ~TraceSink() = default;

  // A request of a send queue.
  struct Request {
    ProcessId process = 0;
    std::uint32_t qpn = 0;  // the queue pair's number
    QpType type = QpType::rc;
    Opcode opcode = Opcode::send;
    std::uint64_t wr_id = 0;
    std::uint64_t bytes = 0;  // length; 0 in posted()
  };

  // Returns the time of the observer's clock, in nanoseconds.
  virtual Moment time() = 0;
  // Called when the engine first sees a request in its queue.
  virtual void posted(const Request& request) = 0;
  // Called when a request is over. The engine read it from its queue at `began`, a value of time().
  // A task that waits was read before it waited.
  virtual void executed(const Request& request, Moment began, Status status) = 0;
  // Called when a completion was written to a queue of the process.
  virtual void completed(ProcessId process, const Completion& completion) = 0;
  // Called when the engine has woken the threads of a process that slept in a poll.
  virtual void woken(ProcessId process) = 0;
};

}  // namespace scela::hca
