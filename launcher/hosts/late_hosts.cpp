#include "launcher/hosts/late_hosts.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "launcher/hosts/late/sshd_probe.h"

namespace scela {

namespace {

using Milliseconds = std::chrono::milliseconds;

// A host that drops packets must not keep the others from being tried again for longer.
constexpr Milliseconds kLongestProbe{3000};

bool is_unknown(const SshHost& host) {
  return host.failure && host.failure->phase == HostPhase::resolve;
}

// Returns true if a probe can tell whether the host is there.
bool can_be_probed(const SshHost& host) {
  return !host.failure && !host.contact.here() && host.proxy_command.empty();
}

std::string short_reason(const std::string& why) {
  const bool is_plain =
      why == "Name or service not known" || why == "No address associated with hostname";
  return is_plain ? "name not known" : why;
}

// Looks up once more the hosts without an address.
Result<void> look_up_again(SshHosts& found, const SshHostsOptions& options, const SshUser& user) {
  std::vector<std::string> names;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < found.hosts.size(); ++i) {
    if (!is_unknown(found.hosts[i])) continue;
    names.push_back(found.hosts[i].contact.name);
    places.push_back(i);
  }
  if (names.empty()) return {};
  auto again = find_ssh_hosts(names, options, user);
  if (!again) return fail(std::move(again.error()));
  for (std::size_t i = 0; i < places.size(); ++i)
    found.hosts[places[i]] = std::move(again->hosts[i]);
  return {};
}

// Asks the hosts that have not answered yet, notes in `answered` those that do, and returns the
// hosts that are awaited.
std::vector<AwaitedHost> ask_hosts(const SshHosts& found, std::vector<bool>& answered,
                                   const ProbeLimits& limits) {
  std::vector<SshdPlace> places;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < found.hosts.size(); ++i) {
    if (answered[i] || !can_be_probed(found.hosts[i])) continue;
    places.push_back({found.hosts[i].contact.address, found.hosts[i].contact.port});
    asked.push_back(i);
  }
  const std::vector<std::string> reasons = probe_sshd(places, limits);
  std::vector<AwaitedHost> out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < found.hosts.size(); ++i) {
    const SshHost& host = found.hosts[i];
    if (is_unknown(host)) out.push_back({host.contact.name, short_reason(host.failure->error.why)});
    if (next == asked.size() || asked[next] != i) continue;
    const std::string& why = reasons[next++];
    answered[i] = why.empty();
    if (!answered[i]) out.push_back({host.contact.name, why});
  }
  return out;
}

}  // namespace

Milliseconds HostPatience::elapsed() const {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - began_);
}

Milliseconds HostPatience::left() const {
  return std::max(Milliseconds(0), wait_.limit() - elapsed());
}

bool HostPatience::goes_on(const std::string& line) {
  const Milliseconds now = elapsed();
  if (now >= wait_.limit()) return false;
  if (wait_.takes_report(now) && tell_) tell_(line);
  return true;
}

bool HostPatience::pause(const std::string& line) {
  const Milliseconds now = elapsed();
  const auto pause = wait_.next_pause(now);
  if (!pause) return false;
  if (wait_.takes_report(now) && tell_) tell_(line);
  std::this_thread::sleep_for(*pause);
  return true;
}

bool HostPatience::pause(const std::vector<AwaitedHost>& awaited, std::size_t all) {
  return pause(waiting_line(awaited, all, left()));
}

void HostPatience::conclude(const std::vector<AwaitedHost>& awaited, std::size_t all) {
  if (!wait_.has_reported() || std::exchange(has_concluded_, true)) return;
  if (tell_) tell_(waited_line(awaited, all, elapsed()));
}

Result<SshHosts> find_late_hosts(const std::vector<std::string>& names,
                                 const SshHostsOptions& options, const SshUser& user,
                                 const LateHostLimits& limits, HostPatience& patience) {
  Result<SshHosts> found = find_ssh_hosts(names, options, user);
  if (!found || !patience.is_set()) return found;
  std::vector<bool> answered(names.size(), false);
  for (;;) {
    const Milliseconds each = std::clamp(std::min(limits.connect, kLongestProbe), Milliseconds(1),
                                         std::max(Milliseconds(1000), patience.left()));
    const std::vector<AwaitedHost> awaited = ask_hosts(*found, answered, {each, limits.at_once});
    if (awaited.empty() || !patience.pause(awaited, names.size())) {
      patience.conclude(awaited, names.size());
      return found;
    }
    if (auto done = look_up_again(*found, options, user); !done)
      return fail(std::move(done.error()));
  }
}

}  // namespace scela
