// How a process that no launcher has started gets one (PMI-1, singleton init): it listens on a
// port, runs
//
//   mpiexec -pmi_args PORT INTERFACE KEY PID
//
// and speaks with whoever connects, one line each:
//
//   server   cmd=singinit authtype=none
//   client   cmd=singinit pmi_version=1 pmi_subversion=1 stdio=no authtype=none
//   server   cmd=singinit_info versionok=yes stdio=no kvsname=NAME
//
// From then on that connection is like that of any rank. INTERFACE and KEY are words that mean
// nothing; PID is of the client or, from MPICH's, of mpiexec itself. Sources: pmodels/mpich
// src/pmi/src/pmi_v1.c (client), src/pm/hydra/proxy/pmip_cb.c (server).
//
// Pure; keeps nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela::pmi::singinit {

inline constexpr std::string_view kOption = "-pmi_args";
inline constexpr std::string_view kInterface = "default_interface";
inline constexpr std::string_view kKey = "default_key";
// Of each of the three lines.
inline constexpr std::size_t kMaxWords = 1024;

// What is sent, with its newline.
std::string hello();
std::string hello_back();
std::string info(std::string_view kvsname);

// What is received, without it. Error (protocol): it is something else.
Result<void> read_hello(std::string_view line);
Result<void> read_hello_back(std::string_view line);
Result<std::string> read_info(std::string_view line);  // the name of the key-value space

}  // namespace scela::pmi::singinit
