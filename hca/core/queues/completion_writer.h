// Writes completions to the processes' completion queues, and sends them events.
//
// All parts that end a send or receive request write its completion here. A strict engine
// (Settings::seed) holds completions back for a while, and this class keeps them. The interpreter's
// one thread uses it.
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

  // Reports a completion to the CQ with this number (its handle); a strict engine holds it back for
  // a while. `solicited` is true if the sender's request had that flag.
  void complete(std::uint32_t number, const Completion& completion, bool solicited);
  // Counts a send request that is over with this status, and reports its completion. It reports
  // none if the request succeeded and is unsignalled.
  void complete_send(Qp& qp, const Outgoing& out, Status status);
  // Reports a random number of the held completions, or all of them if `all` is true. Those of one
  // queue keep their order.
  void release_some(bool all);
  // Reports the held completions of the queue pair's receives now, in order.
  void release_receives(const Qp& qp);
  // Returns true if completions are held back.
  bool has_held() const { return !held_.empty(); }

  // Sends an asynchronous event. The first function sends it to the process, with the cookie that
  // the process has given the CQ, SRQ or queue pair. The second sends it to the owner of the queue
  // pair, or to each holder of an XRC_RECV queue pair.
  void send_event(ProcessId process, EventType type, std::uint64_t cookie);
  void send_event(const Qp& qp, EventType type);

 private:
  // The arguments of a complete() that is held back.
  struct Held {
    std::uint32_t cq = 0;
    Completion completion;
    bool solicited = false;
  };
  // Writes the completion to the CQ's ring now. Wakes threads that sleep in a poll, sends the
  // channel's event, and schedules queue pairs with a WAIT that may be over. If the ring is full,
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
