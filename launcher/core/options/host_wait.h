// The rules of waiting for hosts that come up late (--wait-hosts): for how long, when the hosts are
// tried again, and what the user reads meanwhile. launcher/hosts/late_hosts.cpp and
// launcher/hosts/host_discovery.cpp try them. Pure: times are durations since the wait began.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/detect/environment.h"
#include "launcher/core/hosts/hostfile.h"
#include "launcher/core/options/options.h"

namespace scela {

// The wait in a launcher pod of the MPI Operator, which starts pods in any order. A larger default
// keeps a job longer that can never start; with a smaller one, pods that still pull their image are
// given up.
inline constexpr std::chrono::milliseconds kWaitInLauncherPod{120'000};

// Returns how long hosts are waited for: as the option says, else kWaitInLauncherPod in a launcher
// pod of the MPI Operator (K_MPI_JOB_ROLE=launcher) and for agents that join (--listen), else 0.
std::chrono::milliseconds host_wait_limit(const Options& options, const Environment& environment);

// Returns a line for the user if --wait-hosts was given and no host is waited for, because another
// command than ssh starts the agents; else "". Such a command (kubectl exec, rsh, srun) ends in the
// same way if its host comes up later and if it never will. Options::launch is final.
std::string unused_wait_line(const Options& options);

// A host that is not there yet.
struct AwaitedHost {
  std::string name;
  std::string why;  // such as "name not known"
};

// The pauses between attempts, and the moments at which a line tells of progress. Both grow.
class HostWait {
 public:
  explicit HostWait(std::chrono::milliseconds limit) : limit_(limit) {}
  // Returns the pause before the next attempt, or std::nullopt if the time is over. `elapsed` is
  // the time since the wait began.
  std::optional<std::chrono::milliseconds> next_pause(std::chrono::milliseconds elapsed);
  // Returns true if a line is due: at once, and then each time that twice the time has passed.
  bool takes_report(std::chrono::milliseconds elapsed);
  // Returns true if takes_report() has returned true before.
  bool has_reported() const { return has_reported_; }
  std::chrono::milliseconds limit() const { return limit_; }

 private:
  std::chrono::milliseconds limit_;
  std::chrono::milliseconds pause_{100};
  std::chrono::milliseconds next_report_{0};
  bool has_reported_ = false;
};

// Returns what is waited for: "waiting for 2 of 4 hosts: w1 (name not known), w3 (connection
// refused)". Hosts with one reason are one node set.
std::string waiting_text(const std::vector<AwaitedHost>& awaited, std::size_t all);
// Returns the line of progress: "waiting for ...; up to 110 s more (--wait-hosts)".
std::string waiting_line(const std::string& waiting, std::chrono::milliseconds left);
// Returns the line after the wait: all hosts are there, or these are not.
std::string waited_line(const std::vector<AwaitedHost>& awaited, std::size_t all,
                        std::chrono::milliseconds elapsed);

// Returns true unless time does not cure what has ended a proxy (ProxyJump, ProxyCommand) before an
// sshd has answered behind it: no such program, a refused login or a wrong key at a jump host,
// settings. `errors` is what it has written to standard error. What is not known may be cured.
bool may_come_up(int exit_code, std::string_view errors);

// Returns a text if the hosts are too few for the job, or "" if they are enough: as many as
// --min-nodes and --spares ask for, with room for the ranks beside the spares: by --ppn, and by
// their slots if all of them state slots.
std::string lack_of_hosts(const std::vector<HostEntry>& hosts, const Options& options);

}  // namespace scela
