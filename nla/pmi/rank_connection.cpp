#include "nla/pmi/rank_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/os/syscall.h"

namespace scela::nla {

namespace {

// Bytes of answers that a rank has not read. A well-behaved rank has one request in flight.
constexpr std::size_t kMaxUnreadAnswers = std::size_t{64} * 1024;

// The descriptors of a rank's memory.
constexpr std::size_t kMaxHandedOver = 2;

// Sends the descriptors with the first byte.
ssize_t send_with(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxHandedOver * sizeof(int))] = {};
  if (!descriptors.empty()) {
    const std::size_t size = descriptors.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), descriptors.data(), size);
  }
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Sets `sender` to the process that wrote the bytes, if the socket was told to report it.
ssize_t receive_from(int socket, char* bytes, std::size_t most, pid_t& sender) {
  iovec part{bytes, most};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // There is no room for descriptors, so descriptors that ranks may send are not opened here.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_type == SCM_CREDENTIALS) {
    ucred who{};
    std::memcpy(&who, CMSG_DATA(header), sizeof who);
    sender = who.pid;
  }
  return got;
}

bool is_local(int socket) {
  int domain = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

}  // namespace

void RankConnection::open(Fd socket, pid_t process) {
  process_ = process;
  end_.fd = std::move(socket);
  watch();
}

void RankConnection::check_in(Fd socket, std::string greeting, const std::string& rest) {
  end_.fd = std::move(socket);
  if (!greeting.empty()) answers_.add(Chunk(std::move(greeting)));
  acknowledge();
  server_->receive(rest);
  flush();
}

void RankConnection::close() {
  if (end_.fd) take_rest();
  if (ring_) end_ring();
  if (!end_.fd && !ring_) return;
  server_->closed();
  end_.close();
  ring_.reset();
}

void RankConnection::on_ready(Rank /*rank*/, int /*which*/, bool readable, bool writable) {
  if (writable && end_.writing) flush();
  if (readable && end_.reading) read();
}

bool RankConnection::may_read() const {
  // A rank that sends requests without reading the answers is not read either.
  return context_.reading && server_->wants_bytes() && answers_.bytes() <= kMaxUnreadAnswers;
}

void RankConnection::watch() {
  end_.watch(*context_.poller, may_read(), !answers_.empty());
}

// Reading and writing the socket.

// Reads only the bytes that are there now, since a process that the rank left behind may go on
// writing.
void RankConnection::take_rest() {
  ReadBuffer& buffer = context_.host.buffer;
  int left = 0;
  ::ioctl(end_.fd.get(), FIONREAD, &left);
  while (left > 0 && !server_->broken()) {
    const std::size_t most = std::min(static_cast<std::size_t>(left), sizeof buffer.bytes);
    const ssize_t got = ::recv(end_.fd.get(), buffer.bytes, most, MSG_DONTWAIT);
    if (got <= 0) break;
    left -= static_cast<int>(got);
    server_->receive({buffer.bytes, static_cast<std::size_t>(got)});
  }
}

// Reads at most one buffer.
void RankConnection::read() {
  ReadBuffer& buffer = context_.host.buffer;
  const ssize_t got = retry([&] {
    return offer_ == Offer::may_lend
               ? receive_from(end_.fd.get(), buffer.bytes, sizeof buffer.bytes, sender_)
               : ::recv(end_.fd.get(), buffer.bytes, sizeof buffer.bytes, MSG_DONTWAIT);
  });
  if (got > 0) {
    if (context_.port) acknowledge();
    server_->receive({buffer.bytes, static_cast<std::size_t>(got)});
    flush();
  } else if (got == 0 || errno != EAGAIN) {
    if (ring_ && ring_->is_taken()) return serve_ring();
    server_->closed();
    end_.close();
    if (context_.port) left_early();
  }
}

void RankConnection::flush() {
  for (Chunk& chunk : server_->take_chunks())
    answers_.add(std::move(chunk));
  if (uses_ring()) {
    write_ring();
  } else {
    write_socket();
  }
  if (server_->hangs_up() && answers_.empty()) {
    server_->closed();
    end_.close();
  }
  watch();
}

void RankConnection::write_socket() {
  while (!answers_.empty() && end_.fd) {
    const ssize_t wrote =
        retry([&] { return send_with(end_.fd.get(), answers_.front(), hand_over_); });
    if (wrote < 0 && errno == EAGAIN) return;
    if (wrote < 0 && !hand_over_.empty()) {
      hand_over_.clear();  // too many on their way: uses its socket
      drop_ring();
      continue;
    }
    if (wrote < 0) return answers_.clear();  // the rank is gone; its end is read
    hand_over_.clear();
    if (ring_) ring_->close_descriptor();
    answers_.take(static_cast<std::size_t>(wrote));
  }
}

// Clients write an operation in several pieces. The kernel holds the second back until the first
// was acknowledged, which it would do only 40 ms later by itself.
void RankConnection::acknowledge() const {
  const int on = 1;
  static_cast<void>(::setsockopt(end_.fd.get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on));
}

// The peers of the rank would wait for it for ever.
void RankConnection::left_early() {
  if (!server_->unfinished() || server_->broken()) return;
  context_.port->doubt(
      end_.rank, [this] { violation("the rank closed its connection too early and runs on"); });
}

void RankConnection::violation(std::string why) {
  context_.host.emit(event::Asked{end_.rank, 0, ask::Violation{std::move(why)}});
}

// Handing over memory.

bool RankConnection::offer_segment() {
  // Bytes that are still to be written belong to earlier answers, so the descriptor must not go
  // with them.
  if (offer_ == Offer::none && is_local(end_.fd.get()) && answers_.empty()) {
    const int memory = context_.host.segment();
    if (memory >= 0) hand_over_ = {memory};
    // Such a rank may ask for more. Then it matters which of its processes asks.
    const int on = 1;
    const bool names_sender =
        ::setsockopt(end_.fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
    offer_ = names_sender ? Offer::may_lend : Offer::segment;
  }
  return !hand_over_.empty();
}

// Lends memory only to the rank's own process, which is a child of this one, so that its end is
// noticed here. A program that the rank has started may be followed by others, which inherit the
// socket.
bool RankConnection::lend_ring() {
  if (ring_ || !answers_.empty() || sender_ == 0 || sender_ != process_) return false;
  if (!context_.doorbells.hang(*context_.poller)) return false;
  ring_ = RankRing::make();
  if (!ring_) return false;
  hand_over_ = {ring_->descriptor(), context_.doorbells.descriptor()};
  context_.doorbells.add(*this);
  return true;
}

void RankConnection::drop_ring() {
  context_.doorbells.remove(*this);
  ring_.reset();
}

// Using it.

void RankConnection::rung() {
  if (ring_->calls(may_read())) serve_ring();
}

void RankConnection::serve_ring() {
  if (ring_->state() == RankRing::State::lent) {
    // The rank's requests through its socket came before those in memory.
    if (end_.fd) take_rest();
    end_.close();
    ring_->begin_use();
  }
  if (ring_->has_room()) write_ring();
  // This comes before the rank's present request, which may be a fence that evicts.
  if (context_.host.used) ring_->take_uses(context_.host.used);
  if (may_read() && !is_spoilt()) {
    ReadBuffer& buffer = context_.host.buffer;
    const auto got = ring_->read(buffer.bytes, sizeof buffer.bytes);
    if (!got) return report_spoilt();
    server_->receive({buffer.bytes, *got});
  }
  flush();
  // Requests that came meanwhile wait until other ranks had their turn.
  if (may_read() && !is_spoilt() && ring_->arm()) context_.doorbells.ring();
}

void RankConnection::write_ring() {
  if (!is_spoilt() && !ring_->write(answers_)) report_spoilt();
}

void RankConnection::report_spoilt() {
  answers_.clear();
  violation("the rank wrote what cannot be into the memory of its requests");
}

// A process that the rank left behind is woken too, if it waits.
void RankConnection::end_ring() {
  if (ring_->is_taken() && !is_spoilt() && !server_->broken()) {
    ReadBuffer& buffer = context_.host.buffer;
    const auto got = ring_->read(buffer.bytes, sizeof buffer.bytes);
    if (got && *got > 0) server_->receive({buffer.bytes, *got});
  }
  ring_->close();
  context_.doorbells.remove(*this);
}

// The trace.

void RankConnection::note_asked(RequestId id, const char* name) {
  asked_[id] = {name, context_.host.clock_ns()};
}

void RankConnection::note_answered(RequestId id) {
  const auto asked = asked_.extract(id);
  if (asked.empty()) return;
  context_.host.tracer.span(asked.mapped().name, asked.mapped().since_ns, context_.host.clock_ns(),
                            end_.rank);
}

}  // namespace scela::nla
