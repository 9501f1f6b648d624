#include "launcher/core/options/host_wait.h"

#include <algorithm>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

using Milliseconds = std::chrono::milliseconds;

// A longer pause would let a host that is there wait; a shorter one would ask a name service for
// many names each second.
constexpr Milliseconds kLongestPause{1000};
// The first line comes at once, and the second one after this time.
constexpr Milliseconds kFirstInterval{5000};
constexpr std::size_t kMaxReasons = 5;  // in one line

// Returns "w1 (name not known), w[3-4] (connection refused)".
std::string with_reasons(const std::vector<AwaitedHost>& awaited) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const AwaitedHost& host : awaited) {
    auto at = std::ranges::find(by_reason, host.why, [](const auto& one) { return one.first; });
    if (at == by_reason.end()) at = by_reason.insert(at, {host.why, {}});
    at->second.push_back(host.name);
  }
  std::string out;
  std::size_t others = 0;
  for (std::size_t i = 0; i < by_reason.size(); ++i) {
    const auto& [why, names] = by_reason[i];
    if (i >= kMaxReasons)
      others += names.size();
    else
      out += cat(out.empty() ? "" : ", ", folded(names), " (", why, ")");
  }
  return others == 0 ? out : cat(out, ", and ", counted(others, "other host"));
}

std::string seconds_text(Milliseconds time) {
  return cat((time.count() + 999) / 1000, " s");
}

}  // namespace

Milliseconds host_wait_limit(const Options& options, const Environment& environment) {
  if (options.wait_hosts) return *options.wait_hosts;
  const bool waits = options.listen || environment.value("K_MPI_JOB_ROLE") == "launcher";
  return waits ? kWaitInLauncherPod : Milliseconds(0);
}

std::string unused_wait_line(const Options& options) {
  const bool is_by_ssh =
      options.launch != LaunchMethod::program && options.launch != LaunchMethod::bulk;
  const bool has_use = is_by_ssh || options.listen || options.hostfile_is_program;
  if (has_use || options.wait_hosts.value_or(Milliseconds(0)).count() == 0) return {};
  return "--wait-hosts has no effect: how the command that starts the agents fails does not say "
         "whether a host comes up later (name the hosts that are there by "
         "--host-discovery-script, or use --listen)";
}

std::optional<Milliseconds> HostWait::next_pause(Milliseconds elapsed) {
  if (elapsed >= limit_) return std::nullopt;
  const Milliseconds pause = std::min(pause_, limit_ - elapsed);
  pause_ = std::min(2 * pause_, kLongestPause);
  return pause;
}

bool HostWait::takes_report(Milliseconds elapsed) {
  if (elapsed < next_report_) return false;
  next_report_ = std::max(2 * elapsed, elapsed + kFirstInterval);
  has_reported_ = true;
  return true;
}

std::string waiting_text(const std::vector<AwaitedHost>& awaited, std::size_t all) {
  return cat("waiting for ", awaited.size(), " of ", counted(all, "host"), ": ",
             with_reasons(awaited));
}

std::string waiting_line(const std::string& waiting, Milliseconds left) {
  return cat(waiting, "; up to ", seconds_text(left), " more (--wait-hosts)");
}

std::string waited_line(const std::vector<AwaitedHost>& awaited, std::size_t all,
                        Milliseconds elapsed) {
  if (awaited.empty())
    return cat(all == 1 ? "the host is" : cat("all ", all, " hosts are"), " there after ",
               seconds_text(elapsed));
  // The wait ends a little later than its limit.
  const auto waited = std::chrono::round<std::chrono::seconds>(elapsed).count();
  return cat("waited ", waited, " s (--wait-hosts) and go on without ", awaited.size(), " of ",
             counted(all, "host"), ": ", with_reasons(awaited));
}

bool may_come_up(int exit_code, std::string_view errors) {
  // As a shell says that it cannot run a program, or does not find it.
  constexpr int kCannotRun = 126, kNotFound = 127;
  // Words of ssh(1) of OpenSSH.
  constexpr std::string_view kFinal[] = {
      "Permission denied",         "Host key verification failed",
      "Too many authentication",   "Bad configuration option",
      "no argument after keyword", "Bad owner or permissions",
      "No user exists for uid",    "administratively prohibited: open failed",
  };
  if (exit_code == kCannotRun || exit_code == kNotFound) return false;
  return std::ranges::none_of(
      kFinal, [&](std::string_view words) { return errors.find(words) != std::string_view::npos; });
}

std::string lack_of_hosts(const std::vector<HostEntry>& hosts, const Options& options) {
  const std::size_t wanted = std::size_t{options.min_nodes.value_or(1)} + options.spares;
  if (hosts.size() < wanted) return cat(counted(hosts.size(), "host"), " of ", wanted);
  // The last hosts are kept as spares.
  const std::size_t used = hosts.size() - options.spares;
  const std::string with_spares =
      cat(counted(used, "host"), options.spares == 0 ? "" : " beside the spares");
  std::uint64_t ranks = 0, slots = 0;
  bool has_all_slots = !options.oversubscribe;
  for (std::size_t i = 0; i < used; ++i) {
    has_all_slots = has_all_slots && hosts[i].slots;  // else as many as the host has processors
    slots += hosts[i].slots.value_or(0);
  }
  for (const App& app : options.apps) {
    const std::uint64_t own = app.np.value_or(1);
    ranks += own;
    if (!app.ppn) continue;
    std::uint64_t room = 0;
    for (std::size_t i = 0; i < used; ++i)
      room += has_all_slots ? std::min<std::uint64_t>(*hosts[i].slots, *app.ppn) : *app.ppn;
    if (room < own) {
      return cat(with_spares, " for ", counted(own, "rank"), " at ", counted(*app.ppn, "rank"),
                 " a node (--ppn)");
    }
  }
  if (!has_all_slots || slots >= ranks) return {};
  return cat(with_spares, " with ", counted(slots, "slot"), " for ", counted(ranks, "rank"));
}

}  // namespace scela
