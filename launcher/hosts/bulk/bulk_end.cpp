#include "launcher/hosts/bulk/bulk_end.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "common/os/syscall.h"
#include "nla/dial/dial_hello.h"

namespace scela {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The time in which nodes clean up, and the command ends, without being asked.
constexpr milliseconds kEndPatience{10000};
// The time that the command gets when no agent is left. It waits for ever for a node that it has
// lost. A smaller one would kill a slow command that is about to end.
constexpr milliseconds kAloneFor{1000};
// The time between SIGTERM and SIGKILL to the command, and the limit of the wait behind that.
constexpr milliseconds kKillPatience{1500};
// A node that has not acknowledged the end of its connection within this time is lost. During the
// job only the links of the tree decide on that. A smaller one would give up a slow network.
constexpr unsigned kSilentMs = 2000;

int left_ms(Clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::max<decltype(left)>(0, left));
}

}  // namespace

void BulkEnd::add(std::string host, Fd socket) {
  agents_.push_back({std::move(host), std::move(socket), false});
}

bool BulkEnd::is_over() const {
  return std::ranges::none_of(agents_, [](const Agent& agent) { return bool(agent.socket); });
}

void BulkEnd::take_events(int limit_ms) {
  std::vector<pollfd> ready = {{has_ended_ ? -1 : command_.process(), POLLIN, 0}};
  for (const Agent& agent : agents_)
    ready.push_back({agent.socket ? agent.socket.get() : -1, POLLIN, 0});
  if (retry([&] { return ::poll(ready.data(), ready.size(), limit_ms); }) <= 0) return;
  if (ready[0].revents != 0) {
    has_ended_ = command_.wait(milliseconds(0)).has_value();
  }
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (ready[i + 1].revents == 0) continue;
    char word = 0;
    const ssize_t got =
        retry([&] { return ::recv(agents_[i].socket.get(), &word, 1, MSG_DONTWAIT); });
    if (got < 0 && errno == EAGAIN) continue;
    agents_[i].is_clean = got == 1 && word == nla::kNodeIsClean;
    agents_[i].socket.reset();
  }
}

void BulkEnd::wait() {
  // An agent that never got a parent ends by this.
  for (const Agent& agent : agents_) {
    ::setsockopt(agent.socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilentMs, sizeof kSilentMs);
    ::shutdown(agent.socket.get(), SHUT_WR);
  }
  // Without an agent, the command has nothing to wait for.
  auto until = Clock::now() + (agents_.empty() ? milliseconds(0) : kEndPatience);
  bool alone = false;
  while (!(has_ended_ && is_over()) && left_ms(until) > 0) {
    take_events(left_ms(until));
    if (is_over() && !alone) until = std::min(until, Clock::now() + kAloneFor);
    alone = is_over();
  }
  for (const int signo : {SIGTERM, SIGKILL}) {
    if (has_ended_) return;
    was_killed_ = true;
    command_.send(signo);
    until = Clock::now() + kKillPatience;
    while (!has_ended_ && left_ms(until) > 0)
      take_events(left_ms(until));
  }
}

std::vector<std::string> BulkEnd::unclean() const {
  std::vector<std::string> hosts;
  for (const Agent& agent : agents_) {
    if (!agent.is_clean && has_ended_ && !was_killed_) hosts.push_back(agent.host);
  }
  return hosts;
}

}  // namespace scela
