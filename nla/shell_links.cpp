// How a shell sees to the health of its links: beats, lost children, a lost parent (decision D3).

#include <signal.h>
#include <sys/random.h>

#include <cstdlib>
#include <utility>

#include "common/core/text.h"
#include "nla/shell_state.h"

namespace scela::nla {

namespace {

std::optional<SshConnection> own_ssh_connection() {
  const char* text = std::getenv("SSH_CONNECTION");
  return text == nullptr ? std::nullopt : parse_ssh_connection(text);
}

}  // namespace

void Shell::State::watch_parent() {
  parent_heart.emplace();
  arm_heart();
}

void Shell::State::watch_child(ChildAgent& child) {
  if (settings.heartbeat_ms == 0) return;
  child.heart.emplace();
  if (!heart_timer) arm_heart();
}

void Shell::State::on_link_frame(LinkId link, Frame frame) {
  const auto kind = static_cast<LinkFrame>(frame.kind);
  if (kind == LinkFrame::introduce && link == kParentLink) {
    Result<Introduction> words = decode_introduction(frame);
    if (!words || !job_key.empty()) return;
    parent_words = std::move(*words);
    job_key = std::exchange(parent_words.key, {});
  }
}

// The key is made by scela-run and goes down the tree; only shells ever see it.
Introduction Shell::State::introduction() {
  const bool root = options.role == Role::root;
  if (root && job_key.empty()) {
    job_key.resize(kJobKeyBytes);
    std::size_t have = 0;
    while (have < job_key.size()) {
      const ssize_t got = ::getrandom(job_key.data() + have, job_key.size() - have, 0);
      if (got > 0) have += static_cast<std::size_t>(got);
    }
  }
  return {root, root ? 0 : node_index, job_key.empty() ? std::string(kJobKeyBytes, '\0') : job_key};
}

// The links' ticks, one timer for all of them.
void Shell::State::arm_heart() {
  const bool told = options.role == Role::root || started_ns != 0 || !job_id.empty();
  const std::uint32_t period = told ? settings.heartbeat_ms : kUnknownHeartbeatMs;
  if (!heart_timer) heart_timer.emplace(io);
  heart_timer->cancel();
  if (period == 0) return parent_heart.reset();
  // After the last one, not after the time it was due at: what came late is not made up for.
  heart_timer->expires_after(std::chrono::milliseconds(period) / Heartbeat::kTicksPerPeriod);
  heart_timer->async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    beat_links();
    arm_heart();
    pump();
  });
}

void Shell::State::beat_links() {
  const auto verdict_of = [](std::optional<Heartbeat>& heart, Link& link) {
    if (!heart) return Heartbeat::Verdict::nothing;
    const Heartbeat::Verdict verdict = heart->tick(link.activity());
    if (verdict == Heartbeat::Verdict::beat) link.beat();
    if (verdict == Heartbeat::Verdict::lost) heart.reset();
    return verdict;
  };
  for (std::size_t i = 0; i < children.size(); ++i) {
    ChildAgent& child = *children[i];
    if (verdict_of(child.heart, *child.link) == Heartbeat::Verdict::lost) {
      lose_child(static_cast<LinkId>(i + 1));
    }
  }
  if (!parent) return;
  if (verdict_of(parent_heart, *parent) == Heartbeat::Verdict::lost) return lose_parent();
  if (parent_heart && parent_heart->overdue()) probe_parent();
}

std::string Shell::State::silence() const {
  const std::uint32_t ms = 3 * settings.heartbeat_ms;
  return ms % 1000 == 0 ? cat("no sign of life for ", ms / 1000, " s")
                        : cat("no sign of life for ", ms, " ms");
}

// By force: whoever holds the other end may never let go of it.
void Shell::State::lose_child(LinkId id) {
  ChildAgent& child = *children[id - 1];
  child.link->abandon();
  on_ended(id, silence());
  child.closed = true;
  if (child.pid != 0) ::kill(child.pid, SIGKILL);
  child_gone_if(child, id);
}

void Shell::State::lose_parent() {
  parent->abandon();
  on_ended(kParentLink, silence());
}

// A person may stop scela-run and let it go on; the job is not to end of that. Its machine answers
// all the same. An agent that is stopped is killed by its guardian: its machine's word is no news.
void Shell::State::probe_parent() {
  if (!parent_words.root) return;
  if (!parent_probe) {
    const std::optional<SshConnection> ssh = own_ssh_connection();
    const auto address = ssh ? parse_address(ssh->client, ssh->client_port) : std::nullopt;
    if (!address) return;
    parent_probe = make_host_probe(io, *address, [this] {
      if (parent_heart) parent_heart->alive();
    });
  }
  parent_probe->ask();
}

}  // namespace scela::nla
