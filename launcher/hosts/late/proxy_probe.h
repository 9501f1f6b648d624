// Asks hosts behind proxies (ProxyJump, ProxyCommand) whether an sshd answers there, without a
// login at the host itself: it runs the proxy, waits for the first words "SSH-" of the sshd, and
// ends the proxy. A jump host sees a whole login. launcher/hosts/late_hosts.cpp waits by it for
// hosts that come up late. Blocks; for the main thread.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/late/sshd_probe.h"

namespace scela {

// Returns for each command of a proxy, in their order, "" if an sshd answers or if the proxy says
// what time does not cure (may_come_up()), or the reason why none answers.
std::vector<std::string> probe_by_proxy(const std::vector<std::string>& commands,
                                        const ProbeLimits& limits);

}  // namespace scela
