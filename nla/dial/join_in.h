// How an agent joins a job by itself (scela-nla --join), where nothing can start agents: the steps
// before it is an agent. It connects to a scela-run that listens, proves the key and lets scela-run
// prove it (join_words.h). Until scela-run is there, it tries again. scela-nla calls this in its
// only thread; it blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/core/result.h"
#include "nla/dial/dial_in.h"

namespace scela::nla {

// The input of join_in().
struct JoinPlace {
  std::string target;  // HOST:PORT, with an IPv6 address in brackets
  std::string key;     // of read_join_key()
  std::string build;   // of this agent
  std::string name;    // of this host
  std::uint32_t slots = 1;
  // The time for which scela-run is tried again while it is not there.
  std::chrono::milliseconds limit{600'000};
};

// Joins the job, before it begins or later. The result has the secret of the job. A name is looked
// up by the program getent, because an agent asks no name service itself. Returns an error: usage
// for a malformed target; unreachable if scela-run was not there within the limit; protocol if it
// refuses this agent or does not prove the key; launch if its job has begun and needs no further
// host. The last two are not tried again.
Result<DialedIn> join_in(const JoinPlace& place);

}  // namespace scela::nla
