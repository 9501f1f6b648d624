// Asks hosts whether an sshd answers there, without a login: it connects, exchanges the version
// lines "SSH-" (RFC 4253, section 4.2), waits until the sshd begins the exchange of keys, and
// closes. launcher/hosts/late_hosts.cpp waits by it for hosts that come up late. Blocks; for any
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace scela {

// The place of an sshd.
struct SshdPlace {
  std::string address;  // numeric
  std::uint16_t port = 22;
};

// The limits of probe_sshd().
struct ProbeLimits {
  std::chrono::milliseconds each{3000};  // for one host, until it has answered
  std::size_t at_once = 128;             // connections at a time, at least 1
  int end = -1;                          // a descriptor; once it is readable, no host is asked
};

// Returns for each place, in their order, "" if an sshd answers, or the reason why none does, such
// as "connection refused".
std::vector<std::string> probe_sshd(const std::vector<SshdPlace>& places,
                                    const ProbeLimits& limits);

}  // namespace scela
