#include "launcher/hosts/late_hosts.h"

#include <algorithm>
#include <utility>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "launcher/hosts/late/proxy_probe.h"
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
  return !host.failure && !host.contact.here();
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

// Returns why the hosts at these places do not answer, in their order; "" for one that does.
std::vector<std::string> reasons_of(const SshHosts& found, const std::vector<std::size_t>& asked,
                                    const LateHostLimits& limits, HostPatience& patience) {
  std::vector<SshdPlace> places;
  std::vector<std::string> proxies;
  for (const std::size_t i : asked) {
    const SshHost& host = found.hosts[i];
    if (host.proxy_command.empty())
      places.push_back({host.contact.address, host.contact.port});
    else
      proxies.push_back(host.proxy_command);
  }
  const auto within = [&](Milliseconds longest) {
    return ProbeLimits{
        std::clamp(longest, Milliseconds(1), std::max(Milliseconds(1000), patience.left())),
        limits.at_once, patience.end_descriptor()};
  };
  std::vector<std::string> out;
  const auto plain = probe_sshd(places, within(std::min(limits.connect, kLongestProbe)));
  // A login at a jump host takes its time.
  const auto behind = probe_by_proxy(proxies, within(limits.connect));
  auto next = plain.begin(), next_behind = behind.begin();
  for (const std::size_t i : asked)
    out.push_back(found.hosts[i].proxy_command.empty() ? *next++ : *next_behind++);
  return out;
}

// Asks the hosts that have not answered yet, notes in `answered` those that do, and returns the
// hosts that are awaited.
std::vector<AwaitedHost> ask_hosts(const SshHosts& found, std::vector<bool>& answered,
                                   const LateHostLimits& limits, HostPatience& patience) {
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < found.hosts.size(); ++i)
    if (!answered[i] && can_be_probed(found.hosts[i])) asked.push_back(i);
  const std::vector<std::string> reasons = reasons_of(found, asked, limits, patience);
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

void HostPatience::stop_watching() {
  is_given_up();
  end_.reset();
}

bool HostPatience::is_given_up() {
  if (given_up_ || !end_) return given_up_.has_value();
  if (const auto cause = end_->cause()) given_up_ = GivenUpWait{*cause, waiting_};
  return given_up_.has_value();
}

Error HostPatience::error() {
  return Error{ErrorKind::launch, "wait for hosts", "", "the wait was given up", ""};
}

bool HostPatience::goes_on(const std::string& waiting) {
  wait_for(waiting);
  const Milliseconds now = elapsed();
  if (is_given_up() || now >= wait_.limit()) return false;
  if (wait_.takes_report(now) && tell_) tell_(waiting_line(waiting, left()));
  return true;
}

bool HostPatience::pause(const std::string& waiting) {
  if (!goes_on(waiting)) return false;
  const auto pause = wait_.next_pause(elapsed());
  if (!pause) return false;
  end_->pause(*pause);
  return !is_given_up();
}

bool HostPatience::pause(const std::vector<AwaitedHost>& awaited, std::size_t all) {
  return pause(waiting_text(awaited, all));
}

void HostPatience::conclude(const std::vector<AwaitedHost>& awaited, std::size_t all) {
  if (!wait_.has_reported() || std::exchange(has_concluded_, true)) return;
  if (tell_) tell_(waited_line(awaited, all, elapsed()));
}

Result<SshHosts> find_late_hosts(const std::vector<std::string>& names,
                                 const SshHostsOptions& options, const SshUser& user,
                                 const LateHostLimits& limits, HostPatience& patience) {
  const WatchedPatience watched(patience);
  patience.wait_for(cat("waiting for ", counted(names.size(), "host")));
  SshHostsOptions wanted = options;
  wanted.lookup.stop = [&patience] { return patience.is_given_up(); };
  Result<SshHosts> found = find_ssh_hosts(names, wanted, user);
  if (patience.is_given_up()) return fail(HostPatience::error());
  if (!found || !patience.is_set()) return found;
  std::vector<bool> answered(names.size(), false);
  for (;;) {
    const std::vector<AwaitedHost> awaited = ask_hosts(*found, answered, limits, patience);
    if (awaited.empty() || !patience.pause(awaited, names.size())) {
      if (patience.is_given_up()) return fail(HostPatience::error());
      patience.conclude(awaited, names.size());
      return found;
    }
    if (auto done = look_up_again(*found, wanted, user); !done)
      return fail(std::move(done.error()));
  }
}

}  // namespace scela
