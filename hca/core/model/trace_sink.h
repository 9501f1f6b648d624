// An observer of the interpreter's work, such as a trace. The interpreter calls it from its one
// thread. Without an observer it only checks a pointer.
#pragma once

#include "hca/core/model/engine.h"
#include "hca/core/wire/layout.h"

namespace scela::hca {

class TraceSink {
 public:
  virtual ~TraceSink() = default;

  struct Request {
    ProcessId process = 0;
    std::uint32_t qpn = 0;
    QpType type = QpType::rc;
    Opcode opcode = Opcode::send;
    std::uint64_t wr_id = 0;
    std::uint64_t bytes = 0;
  };

  // Returns the time of the observer's clock.
  virtual Moment time() = 0;
  // The engine has seen the request in its queue.
  virtual void posted(const Request& request) = 0;
  // The request was taken from its queue at `began` and is over now. A task that waits was taken
  // earlier.
  virtual void executed(const Request& request, Moment began, Status status) = 0;
  // The completion was written to the process's queue.
  virtual void completed(ProcessId process, const Completion& completion) = 0;
  // The engine has woken the process, which slept until a completion.
  virtual void woken(ProcessId process) = 0;
};

}  // namespace scela::hca
