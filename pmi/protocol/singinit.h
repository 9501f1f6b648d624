// The lines by which a process that no launcher has started gets one (PMI-1, singleton init). The
// client library and scela-run use them. The process listens on a port, runs
//
//   mpiexec -pmi_args PORT INTERFACE KEY PID
//
// and exchanges three lines with the server that connects:
//
//   server   cmd=singinit authtype=none
//   client   cmd=singinit pmi_version=1 pmi_subversion=1 stdio=no authtype=none
//   server   cmd=singinit_info versionok=yes stdio=no kvsname=NAME
//
// Afterwards the connection is like that of any rank. INTERFACE and KEY are words without a
// meaning. PID is the client's process id or, with MPICH's client, that of mpiexec itself. Sources:
// pmodels/mpich src/pmi/src/pmi_v1.c (client), src/pm/hydra/proxy/pmip_cb.c (server).
//
// Pure functions, for any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela::pmi::singinit {

// The words of the command line above.
inline constexpr std::string_view kOption = "-pmi_args";
inline constexpr std::string_view kInterface = "default_interface";
inline constexpr std::string_view kKey = "default_key";
// The largest size of each of the three lines, in bytes.
inline constexpr std::size_t kMaxWords = 1024;

// Return the lines to send, with their newline: the server's first, the client's, and the server's
// last with the name of the job's key-value space.
std::string hello();
std::string hello_back();
std::string info(std::string_view kvsname);

// Parse the same three lines as the other side receives them, given without their newline. They
// return an error (protocol) if it is another line or asks for another authentication, version or
// standard streams.
Result<void> read_hello(std::string_view line);
Result<void> read_hello_back(std::string_view line);
Result<std::string> read_info(std::string_view line);  // returns the kvsname

}  // namespace scela::pmi::singinit
