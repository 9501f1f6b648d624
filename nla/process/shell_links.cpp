// How a shell looks after its links to other machines: beats, lost children, a lost parent, and the
// change from the stream that started an agent to TCP (decision D3).

#include <signal.h>
#include <sys/random.h>

#include <cstdlib>
#include <utility>

#include "common/core/text.h"
#include "common/os/connection_state.h"
#include "nla/guard/guardian.h"
#include "nla/process/shell_state.h"

namespace scela::nla {

namespace {

std::optional<SshConnection> own_ssh_connection() {
  const char* text = std::getenv("SSH_CONNECTION");
  return text == nullptr ? std::nullopt : parse_ssh_connection(text);
}

ConnectionState ssh_connection_state() {
  const std::optional<SshConnection> ssh = own_ssh_connection();
  if (!ssh) return ConnectionState::unknown;
  const auto own = parse_address(ssh->server, ssh->server_port);
  const auto peer = parse_address(ssh->client, ssh->client_port);
  return own && peer ? connection_state(*own->get(), *peer->get()) : ConnectionState::unknown;
}

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t have = 0; have < size;) {
    const ssize_t got = ::getrandom(bytes.data() + have, size - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

void Shell::State::watch_parent() {
  parent_heart.emplace();
  parent_connection_known = ssh_connection_state() == ConnectionState::open;
  arm_heart();
}

void Shell::State::watch_child(ChildAgent& child) {
  if (settings.heartbeat_ms == 0) return;
  child.heart.emplace();
  if (!heart_timer) arm_heart();
}

void Shell::State::on_link_frame(LinkId link, Frame frame) {
  const auto kind = static_cast<LinkFrame>(frame.kind);
  if (link == kParentLink) {
    if (kind == LinkFrame::introduce && keys.empty()) {
      introduced(decode_introduction(frame));
    } else if (kind == LinkFrame::ask && !std::exchange(change_asked, true)) {
      listen();
    }
  } else if (kind == LinkFrame::change) {
    changed(link);
  } else if (kind == LinkFrame::offer) {
    if (Result<std::uint16_t> port = decode_offer(frame)) connect(link, *port);
  } else if (kind != LinkFrame::beat && !children[link - 1]->given_up) {
    // Not now: the link is in the middle of a call.
    boost::asio::post(io, [this, link] {
      lose_child(link, "protocol error: a frame that only a parent sends");
      pump();
    });
  }
}

void Shell::State::introduced(Result<Introduction> words) {
  Result<NodeKeys> own =
      words ? NodeKeys::decode(std::exchange(words->keys, {})) : fail(Error{words.error()});
  // Not now: the link is in the middle of a call.
  if (!own) {
    return boost::asio::post(io, [this] {
      if (parent) lose_parent();
      pump();
    });
  }
  keys = std::move(*own);
  marks = AgentMarks(std::exchange(words->common, {}));
  parent_words = std::move(*words);
  show_mark(options.mark_room, marks.mark_of(::getpid()));
  tell_marks(options.guardian_socket, marks);
}

// scela-run makes the keys, and they go down the tree; only shells ever see them.
Introduction Shell::State::introduction(Slice child) {
  const bool root = options.role == Role::root;
  if (root && keys.empty()) {
    keys = NodeKeys::all(random_bytes(kNodeKeyBytes));
    marks = AgentMarks(random_bytes(kCommonKeyBytes));
  }
  std::string common = marks.key();
  common.resize(kCommonKeyBytes);
  return {root,   root ? 0 : node_index,   child.first,
          job_id, keys.of(child).encode(), std::move(common)};
}

// Sets the one timer for the ticks of all links.
void Shell::State::arm_heart() {
  const bool told = options.role == Role::root || started_ns != 0 || !job_id.empty();
  const std::uint32_t period = told ? settings.heartbeat_ms : kUnknownHeartbeatMs;
  if (!heart_timer) heart_timer.emplace(io);
  heart_timer->cancel();
  if (period == 0) return parent_heart.reset();
  // The next tick counts from the last one, not from the time it was due at. Late ticks are not
  // made up for.
  heart_timer->set(std::chrono::milliseconds(period) / Heartbeat::kTicksPerPeriod, [this] {
    beat_links();
    arm_heart();
    pump();
  });
}

void Shell::State::beat_links() {
  const auto verdict_of = [](std::optional<Heartbeat>& heart, Link& link,
                             const Heartbeat::Seen& seen) {
    if (!heart) return Heartbeat::Verdict::nothing;
    const Heartbeat::Verdict verdict = heart->tick(seen);
    if (verdict == Heartbeat::Verdict::beat) link.beat();
    if (verdict == Heartbeat::Verdict::lost) heart.reset();
    return verdict;
  };
  for (std::size_t i = 0; i < children.size(); ++i) {
    ChildAgent& child = *children[i];
    const Heartbeat::Seen seen = child.link->activity();
    const auto id = static_cast<LinkId>(i + 1);
    // A healthy agent reads nothing while its own child takes nothing. It must notice that before
    // it is given up itself, so the limit has a period for each level below.
    const std::uint32_t limit =
        Heartbeat::kTicksPerPeriod * (3 + height({child.node, child.end}, degree));
    if (child.heart &&
        child.stall.tick(child.link->queued_bytes() > kHighWater, seen.sent, limit)) {
      child.heart.reset();
      lose_child(id, "it takes nothing of what is sent to it");
    } else if (verdict_of(child.heart, *child.link, seen) == Heartbeat::Verdict::lost) {
      lose_child(id, silence());
    }
  }
  if (!parent) return;
  if (verdict_of(parent_heart, *parent, parent->activity()) == Heartbeat::Verdict::lost)
    return lose_parent();
  if (parent_heart && parent_heart->overdue()) probe_parent();
}

std::string Shell::State::silence() const {
  const std::uint32_t ms = 3 * settings.heartbeat_ms;
  return ms % 1000 == 0 ? cat("no sign of life for ", ms / 1000, " s")
                        : cat("no sign of life for ", ms, " ms");
}

// The link is closed by force, since the process with the other end may never let go of it.
void Shell::State::lose_child(LinkId id, std::string why) {
  ChildAgent& child = *children[id - 1];
  child.attempt.reset();
  child.link->abandon();
  on_ended(id, std::move(why));
  child.closed = true;
  if (child.pid != 0) ::kill(child.pid, SIGKILL);
  child_gone_if(child, id);
}

void Shell::State::lose_parent() {
  parent->abandon();
  on_ended(kParentLink, silence());
}

// A person may stop scela-run and continue it, and the job must not end because of that. The
// machine of scela-run answers all the same. A stopped agent is killed by its guardian, so its
// machine's answer would say nothing.
void Shell::State::probe_parent() {
  if (!parent_words.root) return;
  // If the root has ended, its connection is closed. The sshd that would report this may be
  // stopped, but the kernel knows.
  if (parent_connection_known) {
    const ConnectionState state = ssh_connection_state();
    if (state == ConnectionState::absent || state == ConnectionState::closing) return;
  }
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

// The change to TCP. The parent asks. The child listens at the address by which it was reached, and
// reports the port. The parent connects. If this is not possible, the link stays as it is.

bool Shell::State::may_change(const ChildAgent& child) const {
  return !child.contact.here() && !child.attach && settings.link != kLinkSsh;
}

void Shell::State::plan_change(LinkId id) {
  ChildAgent& child = *children[id - 1];
  child.change = ChildAgent::Change::planned;
  child.change_timer.emplace(io);
  if (settings.link == kLinkTcp) return ask_for_change(id);
  child.change_timer->set(std::chrono::milliseconds(kChangeAgeMs), [this, id] {
    if (children[id - 1]->change == ChildAgent::Change::planned) ask_for_change(id);
  });
}

void Shell::State::change_busy() {
  for (std::size_t i = 0; i < children.size(); ++i) {
    ChildAgent& child = *children[i];
    if (child.change == ChildAgent::Change::planned &&
        child.link->carried_bytes() >= kChangeBytes) {
      ask_for_change(static_cast<LinkId>(i + 1));
    }
  }
}

void Shell::State::ask_for_change(LinkId id) {
  ChildAgent& child = *children[id - 1];
  child.change = ChildAgent::Change::asked;
  child.link->send_link_frame(link_frame(LinkFrame::ask));
  child.link->flush();
  // The limit is for the child's answer. After it, the connection has a limit of its own.
  child.change_timer->set(std::chrono::milliseconds(2 * settings.connect_ms), [this, id] {
    change_failed(id, "the agent does not answer");
    pump();
  });
}

void Shell::State::listen() {
  const std::optional<SshConnection> ssh = own_ssh_connection();
  const auto address = ssh ? parse_address(ssh->server, 0) : std::nullopt;
  const std::uint32_t parent_node = parent_words.root ? kRootNode : parent_words.parent;
  SharedKey key = derive_link_key(keys.of(parent_words.child),
                                  {parent_words.job_id, parent_node, parent_words.child});
  std::uint16_t port = 0;
  if (address && !keys.empty()) {
    auto made = accept_tls(io, *address, std::move(key),
                           std::chrono::milliseconds(settings.connect_ms), [this](auto stream) {
                             // The parent's stream may have ended in the same turn.
                             if (stream && parent) parent->change_to(std::move(*stream), true);
                           });
    if (made) {
      change_listener = std::move(*made);
      port = change_listener->port();
    }
  }
  parent->send_link_frame(encode_offer(port));
  parent->flush();
}

void Shell::State::connect(LinkId id, std::uint16_t port) {
  ChildAgent& child = *children[id - 1];
  if (child.change != ChildAgent::Change::asked || child.attempt) return;
  const std::optional<Address> address = parse_address(child.contact.address, port);
  const std::uint32_t own = options.role == Role::root ? kRootNode : node_index;
  SharedKey key = derive_link_key(keys.of(child.node), {job_id, own, child.node});
  if (port == 0) return change_failed(id, "the agent cannot listen");
  if (!address) return change_failed(id, "its address is not known");
  child.attempt = connect_tls(
      io, *address, port, std::move(key), std::chrono::milliseconds(settings.connect_ms),
      [this, id, port](auto stream) {
        ChildAgent& one = *children[id - 1];
        if (stream) {
          one.link->change_to(std::move(*stream), false);
        } else {
          change_failed(
              id, cat("connect to ", one.contact.address, " port ", port, ": ", stream.error()));
        }
        pump();
      });
}

void Shell::State::changed(LinkId id) {
  ChildAgent& child = *children[id - 1];
  // The child was not asked, or was given up as too slow.
  if (child.change != ChildAgent::Change::asked) return;
  child.change = ChildAgent::Change::over;
  child.change_timer->cancel();
  emit(event::Say{{LogLevel::info, Subsystem::tree, options.node,
                   cat("link to ", child.contact.name, " upgraded to TCP")}});
}

void Shell::State::change_failed(LinkId id, const std::string& why) {
  ChildAgent& child = *children[id - 1];
  if (std::exchange(child.change, ChildAgent::Change::over) == ChildAgent::Change::over) return;
  child.change_timer->cancel();
  if (child.given_up) return;
  if (settings.link == kLinkTcp) {
    // Not now: the link may be in the middle of a call.
    boost::asio::post(io, [this, id, why] {
      lose_child(id, cat("no direct connection, as --link tcp wants it: ", why));
      pump();
    });
    return;
  }
  emit(event::Say{{LogLevel::info, Subsystem::tree, options.node,
                   cat("link to ", child.contact.name, " stays as it is: ", why)}});
}

}  // namespace scela::nla
