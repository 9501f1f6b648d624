#include "hca/engine/daemon/client_connection.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/os/syscall.h"

namespace scela::hca {

namespace {
// The most descriptors that the kernel passes at once (SCM_MAX_FD).
constexpr std::size_t kMaxDescriptors = 253;
}  // namespace

std::optional<Peer> Connection::peer() const {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return std::nullopt;
  return Peer{who.pid, who.uid};
}

Connection::MessageKind Connection::receive(Ask& ask, std::string& record, Handed& handed) const {
  alignas(JoinAsk) char bytes[sizeof(JoinAsk)];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{bytes, sizeof bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_LEN(sizeof(int));  // the kernel closes any others
  const ssize_t got = retry([&] {
    return ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
  });
  if (got < 0) return errno == EAGAIN ? MessageKind::nothing : MessageKind::end;
  if (const cmsghdr* const head = CMSG_FIRSTHDR(&message);
      head != nullptr && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
      head->cmsg_len == CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(head), sizeof number);
    handed.file.reset(number);
  }
  const bool is_cut = (message.msg_flags & MSG_CTRUNC) != 0;
  handed.lost = is_cut && !handed.file;
  const MessageKind came = understand(bytes, got, ask, record);
  const bool hands_over = came == MessageKind::ask && ask.operation == Operation::reg_pool;
  if (hands_over ? !is_cut || handed.lost : !is_cut && !handed.file) return came;
  ::explicit_bzero(record.data(), record.size());
  return MessageKind::nonsense;
}

Connection::MessageKind Connection::understand(std::span<char> words, ssize_t got, Ask& ask,
                                               std::string& record) {
  char* const bytes = words.data();
  if (got == 0) return MessageKind::end;
  if (got == sizeof(StatusAsk)) {
    StatusAsk status;
    std::memcpy(static_cast<void*>(&status), bytes, sizeof status);
    if (status.magic != StatusAsk{}.magic) return MessageKind::nonsense;
    return status.is_json != 0 ? MessageKind::status_json : MessageKind::status;
  }
  if (got == sizeof(JoinAsk)) {
    JoinAsk join;
    std::memcpy(static_cast<void*>(&join), bytes, sizeof join);
    const bool ours = join.magic == kJoinMagic && join.version == kLayoutVersion &&
                      join.length <= sizeof join.record;
    if (ours) record.assign(join.record, join.length);
    ::explicit_bzero(bytes, words.size());
    ::explicit_bzero(join.record, sizeof join.record);
    return ours ? MessageKind::join : MessageKind::nonsense;
  }
  if (got != sizeof ask) return MessageKind::nonsense;
  std::memcpy(static_cast<void*>(&ask), bytes, sizeof ask);
  return ask.version == kLayoutVersion ? MessageKind::ask : MessageKind::nonsense;
}

bool Connection::answer(const Answer& answer, std::span<const int> descriptors) const {
  return send(std::as_bytes(std::span(&answer, 1)), descriptors);
}

bool Connection::send(std::span<const std::byte> words, std::span<const int> descriptors) const {
  if (descriptors.size() > kMaxDescriptors) return false;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  iovec bytes{const_cast<std::byte*>(words.data()), words.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
  }
  const ssize_t sent =
      retry([&] { return ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL); });
  return sent == static_cast<ssize_t>(words.size());
}

bool Connection::answer(const std::string& text) const {
  const Fd file(::memfd_create("scela-hca", MFD_CLOEXEC));
  if (!file) return false;
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t put = retry([&] { return ::write(file.get(), rest.data(), rest.size()); });
    if (put <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  const std::byte byte{1};
  const int descriptor = file.get();
  return send(std::span(&byte, 1), std::span(&descriptor, 1));
}

}  // namespace scela::hca
