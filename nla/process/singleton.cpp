#include "nla/process/singleton.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/process/socket_owner.h"
#include "common/os/syscall.h"
#include "pmi/protocol/keyval.h"
#include "pmi/protocol/singinit.h"

namespace scela::nla {

namespace {

// The process waits for this program; one that is stopped by a debugger has this long.
constexpr int kAnswerMs = 60'000;

tl::unexpected<Error> failed(std::string what, int number) {
  return fail(os_error(ErrorKind::unreachable, std::move(what), number));
}

Result<Fd> connect_to(std::uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return failed("make a socket", errno);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failed(cat("connect to port ", port), errno);
  }
  const int on = 1;
  static_cast<void>(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  return socket;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote =
        retry([&] { return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// Reads one line without its newline. It reads byte by byte, since the bytes after it are to be
// passed on.
Result<std::string> read_line(int fd) {
  std::string line;
  while (line.size() < pmi::singinit::kMaxWords) {
    pollfd ready{fd, POLLIN, 0};
    if (retry([&] { return ::poll(&ready, 1, kAnswerMs); }) == 0) return failed("hear", ETIMEDOUT);
    char byte = 0;
    const ssize_t got = retry([&] { return ::recv(fd, &byte, 1, 0); });
    if (got < 0) return failed("hear", errno);
    if (got == 0) return failed("hear", ECONNRESET);
    if (byte == '\n') return line;
    line += byte;
  }
  return fail(Error{ErrorKind::protocol, "hear", "", "its first line does not end", ""});
}

Result<void> greet(int fd) {
  const char* const job = std::getenv("SCELA_JOB_ID");
  if (!write_all(fd, pmi::singinit::hello())) return failed("greet", errno);
  const auto line = read_line(fd);
  if (!line) return fail(line.error());
  // The process may ask for any program to be run, so it must belong to this user.
  if (!peer_is_this_user(fd)) {
    return fail(Error{ErrorKind::usage, "listen to it", "",
                      "it is not this user's, or has closed its connection", ""});
  }
  if (auto known = pmi::singinit::read_hello_back(*line); !known) return known;
  if (!write_all(fd, pmi::singinit::info(job == nullptr ? "" : job))) return failed("greet", errno);
  return {};
}

// Bytes on their way from one end to the other.
struct Way {
  int from;
  int to;
  std::array<char, 4096> bytes{};
  std::size_t filled = 0;
  std::size_t sent = 0;

  bool empty() const { return sent == filled; }
  // Returns false if that end is closed.
  bool take() {
    const ssize_t got = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    filled = static_cast<std::size_t>(got);
    sent = 0;
    return got > 0;
  }
  bool give() {
    const ssize_t wrote =
        ::send(to, bytes.data() + sent, filled - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (wrote < 0) return errno == EAGAIN || errno == EINTR;
    sent += static_cast<std::size_t>(wrote);
    return true;
  }
};

// Passes bytes on until one end is closed.
void pass_on(int process, int agent) {
  Way asked{process, agent};
  Way answered{agent, process};
  for (;;) {
    std::array<pollfd, 2> ends{pollfd{process, 0, 0}, pollfd{agent, 0, 0}};
    const auto wait = [](const Way& way, pollfd& from, pollfd& to) {
      pollfd& end = way.empty() ? from : to;
      end.events = static_cast<short>(end.events | (way.empty() ? POLLIN : POLLOUT));
    };
    wait(asked, ends[0], ends[1]);
    wait(answered, ends[1], ends[0]);
    for (pollfd& end : ends)
      end.fd = end.events == 0 ? -1 : end.fd;  // avoids wake-ups by its end alone
    if (retry([&] { return ::poll(ends.data(), ends.size(), -1); }) < 0) return;
    for (Way* way : {&asked, &answered}) {
      if (!(way->empty() ? way->take() : way->give())) return;
    }
  }
}

}  // namespace

int stand_for_singleton(const std::string& port) {
  const auto complain = [&](const Error& error) {
    std::fprintf(stderr, "scela-run: process on port %s: %s\n", port.c_str(), error.text().c_str());
    return 1;
  };
  const auto number = pmi::parse_int(port);
  const char* const inherited = std::getenv("PMI_FD");
  const auto agent = inherited == nullptr ? std::nullopt : pmi::parse_int(inherited);
  if (!number || *number < 1 || *number > UINT16_MAX || !agent) {
    return complain({ErrorKind::usage, "speak for it", "", "no port, or no agent to speak to", ""});
  }
  const auto process = connect_to(static_cast<std::uint16_t>(*number));
  if (!process) return complain(process.error());
  if (auto greeted = greet(process->get()); !greeted) return complain(greeted.error());
  pass_on(process->get(), *agent);
  return 0;
}

}  // namespace scela::nla
