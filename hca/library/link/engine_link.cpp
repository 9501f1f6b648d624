#include "hca/library/link/engine_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/os/syscall.h"
#include "hca/core/wire/variables.h"
#include "hca/library/link/join.h"
#include "hca/library/link/settings_check.h"

namespace scela::hca::library {

namespace {
constexpr std::size_t kMaxDescriptors = 16;  // with one answer
constexpr std::size_t kOfHello = 3;          // page, wake eventfd, asynchronous events
constexpr int kAttempts = 3;                 // to find an engine that answers

Answer failed(int number) {
  Answer answer;
  answer.error = static_cast<std::uint32_t>(number);
  return answer;
}

// The engine proves with these numbers that it reaches this process's memory.
struct Probe {
  std::uint64_t number = 0;
  std::uint64_t complement = 0;
};

// Sends the question, with `file` unless that is -1. Returns what sendmsg returns.
ssize_t send_ask(int socket, const Ask& ask, int file) {
  iovec part{const_cast<Ask*>(&ask), sizeof(ask)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &file, sizeof(int));
  }
  return retry([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); });
}

// Returns true if the engine has closed its end. It polls the socket and reads nothing from it.
bool has_ended(int socket) {
  pollfd end{socket, POLLRDHUP, 0};
  return ::poll(&end, 1, 0) > 0 && (end.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
}

void collect(const msghdr& header, std::vector<Fd>& fds) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&header), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      fds.emplace_back(number);
    }
  }
}
}  // namespace

// An engine that is killed meanwhile does not answer. The next attempt finds another one or starts
// it.
int EngineLink::greet(const Ask& hello, Answer& answer, std::vector<Fd>& fds, std::string& why) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    socket_.reset();
    fds.clear();
    const int error = connect_told(socket_, why);
    if (error != 0) return error;
    ucred peer{};
    socklen_t bytes = sizeof(peer);
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0) {
      // A kernel without Yama has no such call, and does not need it.
      ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(peer.pid), 0, 0, 0);
    }
    if (exchange(hello, -1, answer, fds)) return 0;
    if (!has_ended(socket_.get())) break;
  }
  why = "the engine closed the connection";
  return EIO;
}

int EngineLink::open(std::string& why) {
  volatile Probe probe;
  std::uint64_t number = 0;
  static_cast<void>(::getrandom(&number, sizeof(number), 0));
  probe.number = number;
  Ask hello;
  hello.address = reinterpret_cast<std::uint64_t>(&probe);
  hello.cookie = number;
  Answer answer;
  std::vector<Fd> fds;
  fds.reserve(kMaxDescriptors);
  const int error = greet(hello, answer, fds, why);
  if (error != 0) return error;
  if (answer.version != kLayoutVersion || answer.error == EPROTO) {
    why = "the engine is of another version";
    return EPROTO;
  }
  if (answer.error != 0) {
    why = "the engine refused this process";
    return static_cast<int>(answer.error);
  }
  const bool is_reached = answer.send.bytes == 0;
  Fd area;
  if (!is_reached && answer.send.chunk < kMaxDescriptors &&
      fds.size() > kOfHello + answer.send.chunk)
    area.reset(::fcntl(fds[kOfHello + answer.send.chunk].get(), F_DUPFD_CLOEXEC, 0));
  if (fds.size() <= kOfHello || !take_chunks(fds, kOfHello)) {
    why = "the engine sent no memory";
    return EPROTO;
  }
  auto engine_memory = SealedMemory::attach(std::move(fds[0]), SealedMemory::Writers::all);
  if (!engine_memory || engine_memory->bytes() < sizeof(EngineMemory) ||
      chunks_[0].bytes() < sizeof(ProcessPage)) {
    why = "the engine's memory cannot be mapped";
    return EPROTO;
  }
  engine_memory_.push_back(std::move(*engine_memory));
  wake_ = std::move(fds[1]);
  events_ = std::move(fds[2]);
  auto* const shared = static_cast<EngineMemory*>(engine_memory_[0].base());
  engine_page_ = &shared->page;
  page_ = static_cast<ProcessPage*>(chunks_[0].base());
  if (engine_page_->magic != kLayoutMagic || engine_page_->version != kLayoutVersion ||
      page_->magic != kLayoutMagic || page_->version != kLayoutVersion) {
    why = "the engine's memory is of another version";
    return EPROTO;
  }
  if (is_reached && probe.complement != ~number) {
    why = "the engine reaches the memory of another process for this one's";
    return EPROTO;
  }
  check_settings(*shared);
  device_ = answer.device;
  if (is_reached) helper_.begin(*page_);
  if (!is_reached && !serve(answer.send, std::move(area))) {
    why = "cannot begin the thread that moves what the engine may not";
    return EAGAIN;
  }
  return 0;
}

bool EngineLink::serve(const Region& area, Fd file) {
  std::byte* const base = at(area, kOrderAreaBytes);
  return base != nullptr && file &&
         service_.start(base, std::move(file), area.offset, [this] { ring(kOrdersDoorbell); }) == 0;
}

// Sends one datagram and receives one. Returns false if the engine is gone or breaks the protocol.
bool EngineLink::exchange(const Ask& ask, int file, Answer& answer, std::vector<Fd>& fds) {
  const ssize_t sent = send_ask(socket_.get(), ask, file);
  if (sent < 0 && errno == ETOOMANYREFS) {  // this user's files in flight
    answer = failed(EMFILE);
    return true;
  }
  if (sent != static_cast<ssize_t>(sizeof(ask))) return false;
  iovec part{&answer, sizeof(answer)};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const ssize_t got = retry([&] { return ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC); });
  if (got <= 0) return false;
  collect(header, fds);
  return got == static_cast<ssize_t>(sizeof(answer)) && (header.msg_flags & MSG_CTRUNC) == 0;
}

bool EngineLink::take_chunks(std::vector<Fd>& fds, std::size_t from) {
  for (std::size_t i = from; i < fds.size(); ++i) {
    auto chunk = SealedMemory::attach(std::move(fds[i]), SealedMemory::Writers::all);
    if (!chunk) return false;
    chunk->close_fd();
    chunks_.push_back(std::move(*chunk));
  }
  return true;
}

EngineLink::~EngineLink() {
  service_.stop();
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
}

Answer EngineLink::converse(const Ask& ask, int file, Fd* handed, std::size_t wanted) {
  if (gone()) {
    settle();
    return failed(EIO);
  }
  const std::lock_guard lock(mutex_);
  Answer answer;
  std::vector<Fd> fds;
  fds.reserve(kMaxDescriptors);
  // After an answer that this side cannot follow, it would lack a chunk that later answers name.
  if (!exchange(ask, file, answer, fds) || answer.version != kLayoutVersion ||
      fds.size() < answer.new_chunks) {
    gone_.store(true, std::memory_order_release);
    settle();
    return failed(EIO);
  }
  const std::size_t extra = fds.size() - answer.new_chunks;
  if (!take_chunks(fds, extra)) {
    gone_.store(true, std::memory_order_release);
    settle();
    return failed(ENOMEM);
  }
  settle();
  if (answer.error != 0) return answer;
  if (extra != wanted) return failed(EPROTO);
  for (std::size_t i = 0; i < wanted; ++i)
    handed[i] = std::move(fds[i]);
  return answer;
}

std::byte* EngineLink::at(const Region& region, std::uint64_t at_least) {
  const std::lock_guard lock(mutex_);
  if (region.bytes < at_least || region.bytes == 0 || region.chunk >= chunks_.size())
    return nullptr;
  const SealedMemory& chunk = chunks_[region.chunk];
  if (region.offset > chunk.bytes() || chunk.bytes() - region.offset < region.bytes ||
      region.offset % alignof(RequestRing) != 0) {
    return nullptr;
  }
  return static_cast<std::byte*>(chunk.base()) + region.offset;
}

void EngineLink::release(const Region& region) {
  const std::lock_guard lock(mutex_);
  if (region.chunk >= chunks_.size() || chunks_[region.chunk].bytes() <= kChunkBytes) return;
  const SealedMemory gone = std::move(chunks_[region.chunk]);
}

void EngineLink::wake() {
  const std::uint64_t one = 1;
  // This fails only if 2^64 - 2 wakes are pending already.
  [[maybe_unused]] const ssize_t written =
      retry([&] { return ::write(wake_.get(), &one, sizeof(one)); });
}

bool EngineLink::look() {
  if (gone()) return true;
  if (has_ended(socket_.get())) gone_.store(true, std::memory_order_release);
  return gone();
}

}  // namespace scela::hca::library
