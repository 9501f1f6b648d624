// Reports what the interpreter does to its trace sink, if it has one (hca/core/model/trace_sink.h).
//
// The parts that execute requests and write completions call it. Without a sink each call is a
// check of a pointer. The interpreter's one thread uses it.
#pragma once

#include "hca/core/model/objects.h"
#include "hca/core/model/trace_sink.h"

namespace scela::hca {

// Passes reports to a sink.
class RequestTrace {
 public:
  // Sets the sink; null removes it. A sink must live until another replaces it.
  void watch(TraceSink* sink) { sink_ = sink; }

  // Returns the time of the sink's clock, or 0 without a sink.
  Moment time() const { return sink_ ? sink_->time() : 0; }
  // Reports each request that was posted to the send queue since the last call for this queue pair.
  void report_posted(Qp& qp) {
    if (sink_) report_new(qp);
  }
  // Reports that the request `out` of `qp` is over with this status.
  void report_executed(const Qp& qp, const Outgoing& out, Status status) {
    if (sink_)
      sink_->executed(
          {qp.owner, qp.handle, qp.type, out.request.opcode, out.request.wr_id, out.bytes},
          out.began, status);
  }
  // Reports a completion that was written to a queue of the process.
  void report_completed(ProcessId process, const Completion& completion) {
    if (sink_) sink_->completed(process, completion);
  }
  // Reports that threads of the process, which slept in a poll, were woken.
  void report_woken(ProcessId process) {
    if (sink_) sink_->woken(process);
  }

 private:
  // Does what report_posted() says.
  void report_new(Qp& qp);

  TraceSink* sink_ = nullptr;
};

}  // namespace scela::hca
