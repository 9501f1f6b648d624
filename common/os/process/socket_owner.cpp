#include "common/os/process/socket_owner.h"

#include <dirent.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

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

// The fields of a line of /proc/net/tcp: its number, the address and port of the socket and of the
// other end, the state, the queues, the timer, repetitions, the user, probes, the inode.
using TableFields = std::array<std::string_view, 10>;

TableFields fields_of(std::string_view line) {
  constexpr std::string_view kBetween = " \n";
  TableFields out;
  for (std::string_view& field : out) {
    line.remove_prefix(std::min(line.find_first_not_of(kBetween), line.size()));
    field = line.substr(0, line.find_first_of(kBetween));
    line.remove_prefix(field.size());
  }
  return out;
}

// Returns true if the whole text is a number, and sets `out` to it.
template <class Number>
bool is_number(std::string_view text, int base, Number& out) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out, base);
  return read.ec == std::errc() && read.ptr == end;
}

// Returns true if the field of the table is this address and port.
bool is_end(std::string_view field, const sockaddr_in& end) {
  const std::size_t colon = std::min(field.find(':'), field.size());
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  return colon < field.size() && is_number(field.substr(0, colon), 16, address) &&
         is_number(field.substr(colon + 1), 16, port) && address == end.sin_addr.s_addr &&
         port == ntohs(end.sin_port);
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
    const auto fields = fields_of(line);
    SocketOwner owner;
    if (is_end(fields[1], ends.peer) && is_end(fields[2], ends.own) &&
        is_number(fields[7], 10, owner.user) && is_number(fields[9], 10, owner.inode)) {
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
