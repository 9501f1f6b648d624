#include "hca/engine/net/peer_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::hca {

namespace {

// A node that has vanished is noticed within about ten seconds, even if nothing is under way.
constexpr unsigned kUserTimeoutMs = 10'000;
constexpr int kKeepIdleS = 4;
constexpr int kKeepIntervalS = 2;
constexpr int kKeepCount = 3;
constexpr std::size_t kKeptRoom = 256u << 10;
// The longest frame fits, so that one system call sends it. A larger value costs memory for bytes
// that wait.
constexpr std::size_t kEncryptedAtOnce = 5 * TlsSession::kRecord;
static_assert(kEncryptedAtOnce >= kLengthBytes + kLongestFrame);
// This is more than one end's part of a greeting.
constexpr std::size_t kGreetingBytes = 4096;
// So many reads are made in one turn. A greeting takes two or three.
constexpr int kMaxGreetingReads = 16;

void set(int socket, int level, int name, int value) {
  static_cast<void>(::setsockopt(socket, level, name, &value, sizeof value));
}

void tune(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleS);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalS);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepCount);
}

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

void Outbox::add(std::span<const std::byte> bytes) {
  if (taken_ > 0 && taken_ >= bytes_.size() / 2) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void Outbox::sent(std::size_t count) {
  taken_ += count;
  if (taken_ < bytes_.size()) return;
  bytes_.clear();
  taken_ = 0;
  if (bytes_.capacity() > kKeptRoom) bytes_ = {};
}

void Outbox::clear() {
  bytes_ = {};
  taken_ = 0;
}

FrameHead::FrameHead(std::span<const std::byte> header, std::size_t payload)
    : size_(kLengthBytes + std::min(header.size(), sizeof(FrameHeader))) {
  std::size_t length = header.size() + payload;
  for (std::size_t i = 0; i < kLengthBytes; ++i, length >>= 8)
    bytes_[i] = static_cast<std::byte>(length);
  std::ranges::copy(header.first(size_ - kLengthBytes), bytes_ + kLengthBytes);
}

PeerLink::PeerLink(Fd socket, Greeting greeting)
    : socket_(std::move(socket)), greeting_(std::move(greeting)) {
  tune(socket_.get());
}

Result<PeerLink> PeerLink::connect(const Endpoint& to, Greeting greeting) {
  Fd made(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage address{};
  const socklen_t size = to.fill(address);
  const auto begun = [&] {
    return ::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 ||
           errno == EINPROGRESS || errno == EINTR;
  };
  if (!made || !begun()) {
    return fail(os_error(ErrorKind::unreachable, cat("connect to ", to.text()), errno));
  }
  PeerLink link(std::move(made), std::move(greeting));
  link.connecting_ = true;
  link.name_ = to.text();
  return link;
}

PeerLink PeerLink::accepted(Fd socket, Greeting greeting) {
  PeerLink link(std::move(socket), std::move(greeting));
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(link.descriptor(), reinterpret_cast<sockaddr*>(&storage), &size) == 0) {
    link.name_ = Endpoint::of(storage).text();
  }
  return link;
}

void PeerLink::establish(std::uint32_t node) {
  node_ = node;
  const bool encrypts = greeting_->encrypts();
  TlsSession session = greeting_->take_session();
  if (encrypts) {
    session_.emplace(std::move(session));
  } else {
    rest_.assign(session.rest().begin(), session.rest().end());
  }
  is_new_ = true;
  greeting_.reset();
}

bool PeerLink::connected() {
  int error = 0;
  socklen_t size = sizeof error;
  sockaddr_storage other{};
  socklen_t length = sizeof other;
  if (::getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0 &&
      ::getpeername(descriptor(), reinterpret_cast<sockaddr*>(&other), &length) == 0) {
    connecting_ = false;
    return true;
  }
  failure_ = error;
  return error == 0;  // it is not connected yet
}

bool PeerLink::greet() {
  if (connecting_ && (!connected() || connecting_)) return failure_ == 0;
  std::byte bytes[kGreetingBytes];
  for (int reads = 0; reads < kMaxGreetingReads; ++reads) {
    while (!greeting_->output().empty()) {
      const auto out = greeting_->output();
      const ssize_t sent =
          retry([&] { return ::send(descriptor(), out.data(), out.size(), MSG_NOSIGNAL); });
      // At most a few hundred bytes are sent, into an empty buffer.
      if (sent < 0) {
        if (greeting_->state() == Greeting::State::failed) return false;
        failure_ = would_block(errno) ? ENOBUFS : errno;
        return false;
      }
      greeting_->sent(static_cast<std::size_t>(sent));
    }
    if (greeting_->state() != Greeting::State::going_on)
      return greeting_->state() != Greeting::State::failed;
    const ssize_t got = retry([&] { return ::recv(descriptor(), bytes, sizeof bytes, 0); });
    if (got <= 0) {
      if (got < 0 && would_block(errno)) return true;
      failure_ = got < 0 ? errno : 0;
      return false;
    }
    greeting_->take(std::span(bytes).first(static_cast<std::size_t>(got)));
  }
  return true;  // other connections have their turn; the rest is read then
}

std::optional<std::size_t> PeerLink::write(std::span<const std::span<const std::byte>> pieces) {
  iovec parts[3];
  for (std::size_t i = 0; i < pieces.size(); ++i)
    parts[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = pieces.size();
  const ssize_t sent = retry([&] { return ::sendmsg(descriptor(), &message, MSG_NOSIGNAL); });
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (would_block(errno)) return 0;
  failure_ = errno;
  return std::nullopt;
}

// Returns false if the connection has ended.
bool PeerLink::send_encrypted() {
  while (!session_->output().empty()) {
    const auto waiting = session_->output();
    const auto sent = write({&waiting, 1});
    if (!sent) return false;
    if (*sent == 0) return true;
    session_->sent(*sent);
  }
  return true;
}

// Returns how many bytes of the pieces were sent, or were encrypted and wait to be sent. It
// encrypts a few records at a time, so a connection that takes nothing holds no more than those.
std::optional<std::size_t> PeerLink::encrypt(std::span<const std::span<const std::byte>> pieces) {
  std::span<const std::byte> rest[3];
  std::ranges::copy(pieces, rest);
  std::size_t taken = 0;
  while (true) {
    if (!send_encrypted()) return std::nullopt;
    if (!session_->output().empty()) return taken;
    std::span<const std::byte> next[3];
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      next[i] = rest[i].first(std::min(rest[i].size(), kEncryptedAtOnce - bytes));
      rest[i] = rest[i].subspan(next[i].size());
      bytes += next[i].size();
    }
    if (bytes == 0) return taken;
    if (!session_->write(std::span(next).first(pieces.size()))) {
      failure_ = EPROTO;
      return std::nullopt;
    }
    taken += bytes;
  }
}

bool PeerLink::send(Outbox& outbox, std::span<const std::byte> head,
                    std::span<const std::byte> payload) {
  const std::span<const std::byte> pieces[] = {outbox.waiting(), head, payload};
  if (head.empty() && payload.empty() && has_sent_all(outbox)) return true;
  const auto left = session_ ? encrypt(pieces) : write(pieces);
  if (!left) return false;
  std::size_t count = *left;
  const std::size_t waited = std::min(count, pieces[0].size());
  outbox.sent(waited);
  count -= waited;
  for (const std::span<const std::byte> piece : {head, payload}) {
    const std::size_t gone = std::min(count, piece.size());
    count -= gone;
    if (gone < piece.size()) outbox.add(piece.subspan(gone));
  }
  return true;
}

std::optional<std::size_t> PeerLink::take(std::span<std::byte> room) {
  const ssize_t got = retry([&] { return ::recv(descriptor(), room.data(), room.size(), 0); });
  if (got > 0) return static_cast<std::size_t>(got);
  if (got < 0 && would_block(errno)) return 0;
  failure_ = got < 0 ? errno : 0;
  return std::nullopt;
}

// `room` holds what comes twice: encrypted at its end, and decrypted in front, which is never
// longer. `looks` says whether the socket is read.
std::optional<std::size_t> PeerLink::decrypt(std::span<std::byte> room, bool looks) {
  const std::span<std::byte> sealed = room.last(room.size() / 2);
  // A part of `sealed` is left for the record that has not come whole yet.
  const auto got = looks ? take(sealed.first(sealed.size() - TlsSession::kSealedRecord)) : 0;
  if (!got) return got;
  return session_->read(room.first(room.size() - sealed.size()), sealed.first(*got));
}

bool PeerLink::read(std::span<std::byte> room, std::span<const std::byte>& bytes) {
  bytes = {};
  const auto ended = [this] {
    failure_ = session_->state() == TlsSession::State::failed ? EBADMSG : 0;
    return false;
  };
  if (has_ended()) return ended();
  std::ranges::copy(rest_, room.begin());
  const std::span<std::byte> free = room.subspan(rest_.size());
  // Bytes behind the greeting are here already. The connection may have ended since.
  const bool looks = !std::exchange(is_new_, false);
  const auto got = session_ ? decrypt(free, looks) : looks ? take(free) : 0;
  if (!got) {
    // An engine says farewell in TLS before it ends the connection.
    if (session_ && failure_ == 0) failure_ = ECONNABORTED;
    return false;
  }
  if (*got == 0 && has_ended()) return ended();
  if (*got > 0 || !looks) bytes = room.first(rest_.size() + *got);
  return true;
}

void PeerLink::shut() {
  if (session_) {
    // The other end can tell this end from that of a connection that was cut.
    if (!std::exchange(says_farewell_, true)) session_->close();
    if (!send_encrypted() || !session_->output().empty()) return;
  }
  ::shutdown(descriptor(), SHUT_WR);
}

}  // namespace scela::hca
