#include "nla/peers/link_health.h"

#include <chrono>
#include <utility>

#include "common/core/text.h"
#include "common/os/tcp_state.h"
#include "nla/io/address.h"

namespace scela::nla {

namespace {

ConnectionState ssh_connection_state() {
  const std::optional<SshConnection> ssh = own_ssh_connection();
  if (!ssh) return ConnectionState::unknown;
  const auto own = parse_address(ssh->server, ssh->server_port);
  const auto peer = parse_address(ssh->client, ssh->client_port);
  return own && peer ? connection_state(*own->get(), *peer->get()) : ConnectionState::unknown;
}

// Ticks the heart, if there is one, and sends a beat if one is due. If the peer is lost, resets it.
Heartbeat::Verdict tick(std::optional<Heartbeat>& heart, Link& link, const Heartbeat::Seen& seen) {
  if (!heart) return Heartbeat::Verdict::nothing;
  const Heartbeat::Verdict verdict = heart->tick(seen);
  if (verdict == Heartbeat::Verdict::beat) link.beat();
  if (verdict == Heartbeat::Verdict::lost) heart.reset();
  return verdict;
}

}  // namespace

void LinkHealth::watch_parent() {
  parent_heart_.emplace();
  parent_connection_known_ = ssh_connection_state() == ConnectionState::open;
  arm();
}

void LinkHealth::watch_child(ChildAgent& child) {
  if (context_.settings.heartbeat_ms == 0) return;
  child.heart.emplace();
  if (!timer_) arm();
}

void LinkHealth::unwatch_parent() {
  parent_heart_.reset();
  parent_probe_.reset();
}

void LinkHealth::settings_changed() {
  if (timer_) arm();
}

void LinkHealth::arm() {
  const bool told = context_.is_root() || context_.started_ns != 0 || !context_.job_id.empty();
  const std::uint32_t period = told ? context_.settings.heartbeat_ms : kUnknownHeartbeatMs;
  if (!timer_) timer_.emplace(context_.io);
  timer_->cancel();
  if (period == 0) return parent_heart_.reset();
  // The next tick counts from the last one, not from the time it was due at. Late ticks are not
  // made up for.
  timer_->set(std::chrono::milliseconds(period) / Heartbeat::kTicksPerPeriod, [this] {
    beat_children();
    beat_parent();
    arm();
    context_.pump();
  });
}

void LinkHealth::beat_children() {
  for (LinkId id = 1; id <= children_.size(); ++id) {
    ChildAgent& child = children_.at(id);
    const Heartbeat::Seen seen = child.link->activity();
    // A healthy agent reads nothing while its own child takes nothing. It must notice that before
    // it is given up itself, so the limit has a period for each level below.
    const std::uint32_t limit =
        Heartbeat::kTicksPerPeriod * (3 + height({child.node, child.end}, context_.degree));
    if (child.heart &&
        child.stall.tick(child.link->queued_bytes() > kHighWater, seen.sent, limit)) {
      child.heart.reset();
      children_.lose(id, "it takes nothing of what is sent to it");
    } else if (tick(child.heart, *child.link, seen) == Heartbeat::Verdict::lost) {
      children_.lose(id, silence());
    }
  }
}

void LinkHealth::beat_parent() {
  Link* const link = parent_.link();
  if (link == nullptr) return;
  if (tick(parent_heart_, *link, link->activity()) == Heartbeat::Verdict::lost) {
    return parent_.lose(silence());
  }
  if (parent_heart_ && parent_heart_->overdue()) probe_parent();
}

std::string LinkHealth::silence() const {
  const std::uint32_t ms = 3 * context_.settings.heartbeat_ms;
  return ms % 1000 == 0 ? cat("no sign of life for ", ms / 1000, " s")
                        : cat("no sign of life for ", ms, " ms");
}

// A person may stop scela-run and continue it, and the job must not end because of that. The
// machine of scela-run answers all the same. A stopped agent is killed by its guardian, so its
// machine's answer would say nothing.
void LinkHealth::probe_parent() {
  if (!keys_.parent().root) return;
  // If the root has ended, its connection is closed. The sshd that would report this may be
  // stopped, but the kernel knows.
  if (parent_connection_known_) {
    const ConnectionState state = ssh_connection_state();
    if (state == ConnectionState::absent || state == ConnectionState::closing) return;
  }
  if (!parent_probe_) {
    const std::optional<SshConnection> ssh = own_ssh_connection();
    const auto address = ssh ? parse_address(ssh->client, ssh->client_port) : std::nullopt;
    if (!address) return;
    parent_probe_ = make_host_probe(context_.io, *address, [this] {
      if (parent_heart_) parent_heart_->alive();
    });
  }
  parent_probe_->ask();
}

}  // namespace scela::nla
