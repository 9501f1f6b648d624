// Completions and events: how a process gets to know results.
//
// All parts that end a send or receive request write its completion here; it has the completions
// that a strict engine holds back. The interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <deque>

#include "common/core/random.h"
#include "hca/core/model/host.h"
#include "hca/core/model/object_tables.h"
#include "hca/core/queues/request_trace.h"
#include "hca/core/queues/scheduler.h"

namespace scela::hca {

class CompletionWriter {
 public:
  // If `is_strict`, completions are held back for a time drawn from `random`. All references must
  // live as long as the writer.
  CompletionWriter(Notices& notices, ObjectTables& objects, Scheduler& scheduler,
                   RequestTrace& trace, Random& random, bool is_strict)
      : notices_(notices),
        objects_(objects),
        scheduler_(scheduler),
        trace_(trace),
        random_(random),
        is_strict_(is_strict) {}

  // Reports a completion to the CQ of this number; a strict engine holds it back for a while.
  // `solicited` says whether the sender's request had that flag.
  void complete(std::uint32_t number, const Completion& completion, bool solicited);
  // Counts a send request that is over, and reports its completion unless it succeeded and is
  // unsignalled.
  void complete_send(Qp& qp, const Outgoing& out, Status status);
  // Reports a random number of the held completions, or all of them if `all`.
  void release_some(bool all);
  // Reports the held completions of the queue pair's receives at once, in order.
  void release_receives(const Qp& qp);
  bool has_held() const { return !held_.empty(); }

  // These send an asynchronous event to the process, or to each holder of the queue pair. `cookie`
  // is the one that the process has given the CQ, SRQ or queue pair.
  void send_event(ProcessId process, EventType type, std::uint64_t cookie);
  void send_event(const Qp& qp, EventType type);

 private:
  struct Held {
    std::uint32_t cq = 0;
    Completion completion;
    bool solicited = false;
  };
  // Writes the completion to the CQ's ring now, and wakes what waits for it. If the ring is full,
  // the CQ breaks unless it ignores overruns.
  void write(std::uint32_t number, const Completion& completion, bool solicited);

  Notices& notices_;
  ObjectTables& objects_;
  Scheduler& scheduler_;
  RequestTrace& trace_;
  Random& random_;
  bool is_strict_;
  std::deque<Held> held_;  // oldest first
};

}  // namespace scela::hca
