// The requests of a process for queue pairs: how they are made, opened by other processes, led
// through their states and destroyed.
//
// An XRC_RECV queue pair has holders: its creator, and the processes that have opened it. Every
// other queue pair has one owner. A doorbell is a bit in the process's page (ProcessPage) that says
// that the queue has a new request.
//
// ObjectControl passes these requests on (hca/core/wire/engine_messages.h). The interpreter's one
// thread uses it.
#pragma once

#include <cstdint>

#include "hca/core/interp/qp_shutdown.h"
#include "hca/core/interp/send_window.h"
#include "hca/core/model/host.h"
#include "hca/core/model/local_ports.h"
#include "hca/core/model/multicast_groups.h"
#include "hca/core/model/object_tables.h"
#include "hca/core/queues/completion_writer.h"
#include "hca/core/queues/scheduler.h"

namespace scela::hca {

// Carries out the requests of processes for queue pairs.
class QpControl {
 public:
  // All references must live as long as this object.
  QpControl(SharedMemory& ring_memory, OtherNodes& nodes, const Settings& settings,
            const LocalPorts& ports, ObjectTables& objects, MulticastGroups& groups,
            Scheduler& scheduler, CompletionWriter& completions, SendWindow& window,
            QpShutdown& shutdown)
      : ring_memory_(ring_memory),
        nodes_(nodes),
        settings_(settings),
        ports_(ports),
        objects_(objects),
        groups_(groups),
        scheduler_(scheduler),
        completions_(completions),
        window_(window),
        shutdown_(shutdown) {}

  // Each carries out the operation of that name (hca/core/wire/engine_messages.h), fills in the
  // answer, and returns 0 or an errno. A handle that the process does not hold gives EINVAL.
  int create(ProcessId process, const Ask& ask, Answer& answer);
  int open(ProcessId process, const Ask& ask, Answer& answer);
  int modify(ProcessId process, const Ask& ask, Answer& answer);
  int query(ProcessId process, const Ask& ask, Answer& answer);
  // Undoes one creation or opening by the process. An XRC_RECV queue pair is removed when its last
  // holder has gone.
  int destroy(ProcessId process, std::uint32_t handle);

 private:
  // Returns 0 if create() may make what the process asks for, or else an errno.
  int check_create(ProcessId process, const Ask& ask) const;
  // Allocates the rings of a new queue pair, and fills in its capacities. Returns false if there is
  // no memory left; nothing stays allocated then.
  bool make_rings(Qp& made, const Ask& ask);
  // Counts a new queue pair as a user of the objects that it names.
  void add_user(const Qp& qp);
  // Returns the number of a doorbell for the queue pair. If none is free, the queue pair shares one
  // with others.
  std::uint32_t assign_doorbell(ProcessId process, std::uint32_t qpn);
  // Returns the queue pair, or null if the process does not hold it.
  Qp* find_held(ProcessId process, std::uint32_t handle);
  // Changes the state to one that is neither RESET nor the error state, after the attributes were
  // set. `mask` has bits of namespace attribute: those that the change sets.
  void change_state(Qp& qp, QpState to, std::uint32_t mask);
  // Sets Qp::node and Qp::reachable from the peer's address in the queue pair's attributes.
  void resolve_peer(Qp& qp);
  // Destroys the queue pair without completions for the requests that are left. The reference is
  // invalid afterwards.
  void remove(Qp& qp);

  SharedMemory& ring_memory_;
  OtherNodes& nodes_;
  const Settings& settings_;
  const LocalPorts& ports_;
  ObjectTables& objects_;
  MulticastGroups& groups_;
  Scheduler& scheduler_;
  CompletionWriter& completions_;
  SendWindow& window_;
  QpShutdown& shutdown_;
};

}  // namespace scela::hca
