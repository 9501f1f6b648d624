// The requests of a process (hca/core/wire/engine_messages.h): every object is made, changed and
// destroyed here, or by QpControl. An object that is in use is not destroyed. A handle is an
// object's number in ObjectTables.
//
// The engine passes each request. The interpreter's one thread uses it.
#pragma once

#include <cstdint>

#include "hca/core/control/qp_control.h"
#include "hca/core/model/host.h"
#include "hca/core/model/local_ports.h"
#include "hca/core/model/multicast_groups.h"
#include "hca/core/model/object_tables.h"

namespace scela::hca {

// Carries out the requests of processes for all objects but queue pairs, and passes on those for
// queue pairs.
class ObjectControl {
 public:
  // All references must live as long as this object.
  ObjectControl(SharedMemory& ring_memory, const Settings& settings, const LocalPorts& ports,
                ObjectTables& objects, MulticastGroups& groups, QpControl& queue_pairs)
      : ring_memory_(ring_memory),
        settings_(settings),
        ports_(ports),
        objects_(objects),
        groups_(groups),
        queue_pairs_(queue_pairs) {}

  // Carries out a request and returns its answer. A failure is an errno in the answer: EPROTO if
  // the process is not attached, EINVAL for a handle of another process.
  Answer execute(ProcessId process, const Ask& ask);
  // Destroys all objects of a process that goes, users before the objects that they use, and
  // detaches it from ObjectTables. An unknown process is ignored.
  void detach(ProcessId process);

 private:
  // Each of these carries out one operation: it fills in the answer and returns 0 or an errno. A
  // handle of another process's object gives EINVAL. change() calls the one for `ask.operation`.
  int change(ProcessId process, const Ask& ask, Answer& answer);
  int query_device(Answer& answer) const;
  int alloc_pd(ProcessId process, Answer& answer);
  int create_channel(ProcessId process, Answer& answer);
  int reg_mr(ProcessId process, const Ask& ask, Answer& answer);
  int create_cq(ProcessId process, const Ask& ask, Answer& answer);
  int resize_cq(ProcessId process, const Ask& ask, Answer& answer);
  int create_srq(ProcessId process, const Ask& ask, Answer& answer);
  int modify_srq(ProcessId process, const Ask& ask);
  int query_srq(ProcessId process, const Ask& ask, Answer& answer) const;
  int open_xrcd(ProcessId process, const Ask& ask, Answer& answer);
  int attach_mcast(ProcessId process, const Ask& ask);
  int detach_mcast(ProcessId process, const Ask& ask);
  // Returns true if `ask.handle` is a UD queue pair of the process and `ask.gid` is a multicast
  // GID.
  bool may_be_member(ProcessId process, const Ask& ask) const;

  // Carries out the operations that destroy an object. Returns 0, EINVAL if the process has no such
  // object, or EBUSY if other objects still use it. destroy() calls the one for `ask.operation`.
  int destroy(ProcessId process, const Ask& ask);
  int dealloc_pd(ProcessId process, std::uint32_t handle);
  int dereg_mr(ProcessId process, std::uint32_t handle);
  int destroy_channel(ProcessId process, std::uint32_t handle);
  int destroy_cq(ProcessId process, std::uint32_t handle);
  int destroy_srq(ProcessId process, std::uint32_t handle);
  // Undoes one opening of an XRC domain. Returns EBUSY if it is the process's last one and the
  // process still has objects in the domain.
  int close_xrcd(ProcessId process, std::uint32_t handle);
  // Returns true if the process has an SRQ or a queue pair in this XRC domain.
  bool uses_xrcd(const Attached& process, std::uint32_t handle) const;

  SharedMemory& ring_memory_;
  const Settings& settings_;
  const LocalPorts& ports_;
  ObjectTables& objects_;
  MulticastGroups& groups_;
  QpControl& queue_pairs_;
};

}  // namespace scela::hca
