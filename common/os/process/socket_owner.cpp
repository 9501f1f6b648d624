#include "common/os/process/socket_owner.h"

#include <dirent.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"

namespace scela {

namespace {

// The depth to which processes below a rank are examined; a program has one process or a few.
constexpr int kMaxDescendants = 16;

struct Ends {
  sockaddr_in peer{};
  sockaddr_in own{};
};

bool ends_of(int fd, Ends& ends) {
  socklen_t size = sizeof ends.peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&ends.peer), &size) != 0) return false;
  size = sizeof ends.own;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&ends.own), &size) == 0 &&
         ends.peer.sin_family == AF_INET && ends.own.sin_family == AF_INET;
}

bool has_descriptor(pid_t pid, std::string_view target) {
  const std::string folder = cat("/proc/", pid, "/fd");
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::opendir(folder.c_str()), ::closedir);
  if (!list) return false;
  while (const dirent* entry = ::readdir(list.get())) {
    char text[64];
    const ssize_t length = ::readlinkat(::dirfd(list.get()), entry->d_name, text, sizeof text);
    if (length > 0 && std::string_view(text, static_cast<std::size_t>(length)) == target) {
      return true;
    }
  }
  return false;
}

bool holds(pid_t pid, std::string_view target, int depth) {
  if (has_descriptor(pid, target)) return true;
  if (depth == kMaxDescendants) return false;
  for (const pid_t child : children_of(pid)) {
    if (holds(child, target, depth + 1)) return true;
  }
  return false;
}

}  // namespace

std::optional<SocketOwner> peer_owner_by_netlink(int fd) {
  Ends ends;
  if (!ends_of(fd, ends)) return std::nullopt;
  const Fd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink) return std::nullopt;
  struct {
    nlmsghdr head{};
    inet_diag_req_v2 body{};
  } question;
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.body.sdiag_family = AF_INET;
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_states = UINT32_MAX;
  // The question is about the peer's socket, so the peer's end comes first.
  question.body.id.idiag_sport = ends.peer.sin_port;
  question.body.id.idiag_dport = ends.own.sin_port;
  question.body.id.idiag_src[0] = ends.peer.sin_addr.s_addr;
  question.body.id.idiag_dst[0] = ends.own.sin_addr.s_addr;
  question.body.id.idiag_cookie[0] = question.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(netlink.get(), &question, sizeof question, 0) !=
      static_cast<ssize_t>(sizeof question)) {
    return std::nullopt;
  }
  alignas(nlmsghdr) char answer[1024];
  const ssize_t got =
      retry([&] { return ::recv(netlink.get(), answer, sizeof answer, MSG_DONTWAIT); });
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg)))) return std::nullopt;
  nlmsghdr head{};
  std::memcpy(&head, answer, sizeof head);
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  inet_diag_msg found{};
  std::memcpy(&found, answer + NLMSG_HDRLEN, sizeof found);
  return SocketOwner{found.idiag_inode, found.idiag_uid};
}

std::optional<SocketOwner> peer_owner_by_table(int fd) {
  Ends ends;
  if (!ends_of(fd, ends)) return std::nullopt;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> table(std::fopen("/proc/net/tcp", "re"),
                                                              std::fclose);
  if (!table) return std::nullopt;
  char line[512];
  while (std::fgets(line, sizeof line, table.get()) != nullptr) {
    std::uint32_t local = 0;
    std::uint32_t remote = 0;
    unsigned local_port = 0;
    unsigned remote_port = 0;
    SocketOwner owner;
    const int read = std::sscanf(
        line, "%*d: %" SCNx32 ":%x %" SCNx32 ":%x %*x %*x:%*x %*x:%*x %*x %u %*u %" SCNu64, &local,
        &local_port, &remote, &remote_port, &owner.user, &owner.inode);
    if (read == 6 && local == ends.peer.sin_addr.s_addr && remote == ends.own.sin_addr.s_addr &&
        local_port == ntohs(ends.peer.sin_port) && remote_port == ntohs(ends.own.sin_port)) {
      return owner;
    }
  }
  return std::nullopt;
}

std::optional<SocketOwner> peer_owner(int fd) {
  const std::optional<SocketOwner> owner = peer_owner_by_netlink(fd);
  return owner ? owner : peer_owner_by_table(fd);
}

bool peer_is_this_user(int fd) {
  const std::optional<SocketOwner> owner = peer_owner(fd);
  return owner && owner->inode != 0 && owner->user == ::geteuid();
}

bool holds_socket(pid_t pid, std::uint64_t inode) {
  return inode != 0 && holds(pid, cat("socket:[", inode, "]"), 0);
}

}  // namespace scela
