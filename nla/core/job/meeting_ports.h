// The place where the ranks of a training job meet: a numeric address and a port of rank 0's node.
// The agents of the first nodes report one each (msg::Hello), and scela-run tells all ranks that of
// rank 0's node (MASTER_ADDR, MASTER_PORT). All functions are pure; nla/io/free_port.h asks the
// system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nla/core/wire/training.h"

namespace scela::nla {

// The ports that JAX computes from the numbers of jobs of Slurm and Open MPI. They begin above the
// ports that Linux hands out by itself (32768 to 60999).
inline constexpr std::uint32_t kFirstMeetingPort = 61440;
inline constexpr std::uint32_t kMeetingPorts = 4096;

// The ports that the system gives to sockets that ask for none, both included.
struct PortRange {
  std::uint32_t first = 32768;
  std::uint32_t last = 60999;
};
// Reads the text of /proc/sys/net/ipv4/ip_local_port_range. Returns Linux's default for other
// texts.
PortRange parse_port_range(std::string_view text);

// Returns the ports to try, in this order: kFirstMeetingPort and the following that are outside of
// `handed_out`, begun at a place that the job's identifier determines, so that two jobs on a node
// seldom try the same one. Outside of that range, no other program gets the port by chance between
// the look and the moment when rank 0 listens.
std::vector<std::uint16_t> meeting_ports(std::string_view job_id, PortRange handed_out);

// Returns the text of a rendezvous, "ADDRESS PORT", as msg::Hello carries it.
std::string format(const Rendezvous& point);
// Reads that text. Returns std::nullopt for any other text. It does not check the address.
std::optional<Rendezvous> parse_rendezvous(std::string_view text);

}  // namespace scela::nla
