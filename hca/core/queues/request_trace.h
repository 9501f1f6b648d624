// Reports what the interpreter does to its trace sink, if it has one (hca/core/model/trace_sink.h).
//
// The parts that execute requests and write completions call it. Without a sink each call is a
// check of a pointer. The interpreter's one thread uses it.
#pragma once

#include "hca/core/model/objects.h"
#include "hca/core/model/trace_sink.h"

namespace scela::hca {

class RequestTrace {
 public:
  // Null removes the sink. It must live until another replaces it.
  void watch(TraceSink* sink) { sink_ = sink; }

  // Returns the time of the sink's clock, or 0 without a sink.
  Moment time() const { return sink_ ? sink_->time() : 0; }
  // Reports the requests of the send queue that were posted since the last call.
  void report_posted(Qp& qp) {
    if (sink_) report_new(qp);
  }
  // Reports a request that is over.
  void report_executed(const Qp& qp, const Outgoing& out, Status status) {
    if (sink_)
      sink_->executed(
          {qp.owner, qp.handle, qp.type, out.request.opcode, out.request.wr_id, out.bytes},
          out.began, status);
  }
  // Reports a completion that was written to the process's queue.
  void report_completed(ProcessId process, const Completion& completion) {
    if (sink_) sink_->completed(process, completion);
  }
  void report_woken(ProcessId process) {
    if (sink_) sink_->woken(process);
  }

 private:
  void report_new(Qp& qp);

  TraceSink* sink_ = nullptr;
};

}  // namespace scela::hca
