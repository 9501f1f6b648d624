// Finds a port of this machine on which rank 0 of a training job can listen. It blocks no longer
// than a few system calls take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scela::nla {

// Returns a TCP port that is free on all addresses of this machine now: the first of
// meeting_ports() (nla/core/job/meeting_ports.h), or, if none of them is free, one that the system
// chooses. The port is not kept: another program may take it before rank 0 listens, which is likely
// only in the latter case. Returns 0 if no port is free.
std::uint16_t free_port(std::string_view job_id);

}  // namespace scela::nla
