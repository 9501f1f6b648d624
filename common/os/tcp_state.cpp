#include "common/os/tcp_state.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>

#include "common/os/fd.h"
#include "common/os/syscall.h"

namespace scela {

namespace {

// Puts the address and port of one end into the form of the question.
bool put_end(const sockaddr& end, __be16& port, __be32* address) {
  if (end.sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &end, sizeof four);
    port = four.sin_port;
    address[0] = four.sin_addr.s_addr;
    return true;
  }
  if (end.sa_family != AF_INET6) return false;
  sockaddr_in6 six{};
  std::memcpy(&six, &end, sizeof six);
  port = six.sin6_port;
  std::memcpy(address, &six.sin6_addr, sizeof six.sin6_addr);
  return true;
}

ConnectionState state_in(const char* answer, ssize_t bytes) {
  nlmsghdr head{};
  if (bytes < static_cast<ssize_t>(sizeof head)) return ConnectionState::unknown;
  std::memcpy(&head, answer, sizeof head);
  if (head.nlmsg_type == NLMSG_ERROR && bytes >= static_cast<ssize_t>(NLMSG_LENGTH(sizeof(int)))) {
    int error = 0;
    std::memcpy(&error, answer + NLMSG_HDRLEN, sizeof error);
    return error == -ENOENT ? ConnectionState::absent : ConnectionState::unknown;
  }
  inet_diag_msg found{};
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      bytes < static_cast<ssize_t>(NLMSG_LENGTH(sizeof found))) {
    return ConnectionState::unknown;
  }
  std::memcpy(&found, answer + NLMSG_HDRLEN, sizeof found);
  return found.idiag_state == TCP_ESTABLISHED ? ConnectionState::open : ConnectionState::closing;
}

}  // namespace

ConnectionState connection_state(const sockaddr& own, const sockaddr& peer) {
  struct {
    nlmsghdr head{};
    inet_diag_req_v2 body{};
  } question;
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.body.sdiag_family = static_cast<std::uint8_t>(own.sa_family);
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_states = UINT32_MAX;
  inet_diag_sockid& id = question.body.id;
  if (own.sa_family != peer.sa_family || !put_end(own, id.idiag_sport, id.idiag_src) ||
      !put_end(peer, id.idiag_dport, id.idiag_dst)) {
    return ConnectionState::unknown;
  }
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const Fd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink || ::send(netlink.get(), &question, sizeof question, 0) !=
                      static_cast<ssize_t>(sizeof question)) {
    return ConnectionState::unknown;
  }
  alignas(nlmsghdr) char answer[1024];
  return state_in(
      answer, retry([&] { return ::recv(netlink.get(), answer, sizeof answer, MSG_DONTWAIT); }));
}

void limit_silence(int socket, std::chrono::milliseconds limit) {
  // The limit is for the acknowledgement of bytes that were sent, and for the answer to probes. The
  // kernel sends these while no bytes are on their way.
  const int on = 1, probe_s = 1;
  const int limit_ms = static_cast<int>(std::clamp<std::int64_t>(limit.count(), 1000, INT_MAX));
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &probe_s, sizeof probe_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &probe_s, sizeof probe_s);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

}  // namespace scela
