// The requests of a process (hca/core/wire/messages.h): every object is made, changed and destroyed
// here, or by QpControl. An object that is in use is not destroyed.
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

  // Carries out a request. A failure is an errno in the answer.
  Answer execute(ProcessId process, const Ask& ask);
  // Destroys all objects of a process that goes, users before the objects that they use, and
  // detaches it.
  void detach(ProcessId process);

 private:
  // Each `int` is 0 or an errno. A handle of another process's object is refused (EINVAL).
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
  // Returns whether the process has the queue pair and may make it a member of the group.
  bool may_be_member(ProcessId process, const Ask& ask) const;

  // Carries out the operations that destroy an object. Returns EBUSY if other objects still use it.
  int destroy(ProcessId process, const Ask& ask);
  int dealloc_pd(ProcessId process, std::uint32_t handle);
  int dereg_mr(ProcessId process, std::uint32_t handle);
  int destroy_channel(ProcessId process, std::uint32_t handle);
  int destroy_cq(ProcessId process, std::uint32_t handle);
  int destroy_srq(ProcessId process, std::uint32_t handle);
  // Undoes one opening. Returns EBUSY if it is the last one and the process still has objects in
  // the domain.
  int close_xrcd(ProcessId process, std::uint32_t handle);
  // Returns whether the process has an SRQ or a queue pair in this XRC domain.
  bool uses_xrcd(const Attached& process, std::uint32_t handle) const;

  SharedMemory& ring_memory_;
  const Settings& settings_;
  const LocalPorts& ports_;
  ObjectTables& objects_;
  MulticastGroups& groups_;
  QpControl& queue_pairs_;
};

}  // namespace scela::hca
