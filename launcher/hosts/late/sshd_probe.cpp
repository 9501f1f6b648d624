#include "launcher/hosts/late/sshd_probe.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <string_view>

#include "common/core/error.h"
#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "nla/io/address.h"

namespace scela {

namespace {

using Clock = std::chrono::steady_clock;

// A server may send lines before "SSH-" (RFC 4253, section 4.2). More than this is no sshd.
constexpr std::size_t kMaxGreeting = 8192;

std::string reason_of(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "connection refused";
    case ECONNRESET:
    case EPIPE:
      return "connection reset";
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "no route to it";
    case ETIMEDOUT:
      return "no answer";
    default:
      return errno_text(error);
  }
}

// The version line of a client. An sshd that is not up yet, or takes no more logins, may end the
// connection behind its own one.
constexpr std::string_view kVersionLine = "SSH-2.0-ScELA\r\n";

// Returns where the version line of a server ends in the text, or npos if it is not complete.
std::size_t end_of_ssh_line(const std::string& text) {
  std::size_t begin = text.starts_with("SSH-") ? 0 : text.find("\nSSH-");
  if (begin == std::string::npos) return begin;
  const std::size_t end = text.find('\n', begin + 1);
  return end == std::string::npos ? end : end + 1;
}

// One connection that is under way.
class Probe {
 public:
  Probe(std::size_t place, Clock::time_point deadline) : place_(place), deadline_(deadline) {}

  // Begins to connect.
  void begin(const SshdPlace& place) {
    const auto address = nla::parse_address(place.address, place.port);
    if (!address) return end("its address is malformed");
    socket_ = Fd(::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) return end(errno_text(errno));
    if (::connect(socket_.get(), address->get(), address->size) != 0 && errno != EINPROGRESS)
      end(reason_of(errno));
  }
  // Call it if poll() reports the events that wanted() asks for, or an error.
  void go_on() {
    if (step_ == Step::connect) {
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) return end(reason_of(error));
      step_ = Step::version;
      return;
    }
    char bytes[512];
    const ssize_t got = retry([&] { return ::recv(socket_.get(), bytes, sizeof bytes, 0); });
    if (got < 0 && errno == EAGAIN) return;
    const std::string_view begun = step_ == Step::keys ? "answers, and then: " : "";
    if (got < 0) return end(cat(begun, reason_of(errno)));
    if (got == 0) return end(cat(begun, "closes the connection"));
    if (step_ == Step::keys) return end("");
    greeting_.append(bytes, static_cast<std::size_t>(got));
    const std::size_t line = end_of_ssh_line(greeting_);
    if (line != std::string::npos) {
      if (line < greeting_.size()) return end("");
      step_ = Step::keys;
      // A new connection has room for a line. If it is lost, the next read says why.
      static_cast<void>(::send(socket_.get(), kVersionLine.data(), kVersionLine.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT));
    } else if (greeting_.size() > kMaxGreeting) {
      end("it is no sshd");
    }
  }
  void check_time(Clock::time_point now) {
    if (is_over_ || now < deadline_) return;
    switch (step_) {
      case Step::connect:
        return end("no answer");
      case Step::version:
        return end("accepts, and says nothing");
      case Step::keys:
        return end("answers, and then says nothing");
    }
  }

  bool is_over() const { return is_over_; }
  const std::string& why() const { return why_; }
  std::size_t place() const { return place_; }
  Clock::time_point deadline() const { return deadline_; }
  pollfd wanted() const {
    return {socket_.get(), static_cast<short>(step_ == Step::connect ? POLLOUT : POLLIN), 0};
  }

 private:
  enum class Step : std::uint8_t {
    connect,  // the connection is not made
    version,  // the version line of the sshd is awaited
    keys,     // the first bytes behind it are
  };

  void end(std::string why) {
    is_over_ = true;
    why_ = std::move(why);
    socket_.reset();
  }

  std::size_t place_;
  Clock::time_point deadline_;
  Fd socket_;
  Step step_ = Step::connect;
  bool is_over_ = false;
  std::string why_;
  std::string greeting_;
};

// Waits until one of the probes can go on, or its time is over. Returns false if `end` is readable.
bool serve(std::deque<Probe>& probes, int end) {
  std::vector<pollfd> ready;
  Clock::time_point first = Clock::time_point::max();
  for (const Probe& probe : probes) {
    ready.push_back(probe.wanted());
    first = std::min(first, probe.deadline());
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
  ready.push_back({end, POLLIN, 0});
  ::poll(ready.data(), ready.size(), static_cast<int>(std::max<long>(0, static_cast<long>(left))));
  if (ready.back().revents != 0) return false;
  const auto now = Clock::now();
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (ready[i].revents != 0) probes[i].go_on();
    probes[i].check_time(now);
  }
  return true;
}

}  // namespace

std::vector<std::string> probe_sshd(const std::vector<SshdPlace>& places,
                                    const ProbeLimits& limits) {
  std::vector<std::string> out(places.size());
  std::deque<Probe> probes;
  std::size_t next = 0;
  for (;;) {
    while (next < places.size() && probes.size() < std::max<std::size_t>(1, limits.at_once)) {
      probes.emplace_back(next, Clock::now() + limits.each).begin(places[next]);
      ++next;
      if (!probes.back().is_over()) continue;
      out[next - 1] = probes.back().why();
      probes.pop_back();
    }
    if (probes.empty()) return out;
    if (!serve(probes, limits.end)) {
      for (const Probe& probe : probes)
        out[probe.place()] = "was not asked to the end";
      for (; next < places.size(); ++next)
        out[next] = "was not asked";
      return out;
    }
    std::erase_if(probes, [&](const Probe& probe) {
      if (probe.is_over()) out[probe.place()] = probe.why();
      return probe.is_over();
    });
  }
}

}  // namespace scela
