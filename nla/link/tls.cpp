#include "nla/link/tls.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/alarm.h"
#include "common/os/asio.h"
#include "common/os/syscall.h"
#include "common/os/tcp_state.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// Bytes of text that are sealed and written to a socket at once: a full piece of output
// (kOutputPiece) with its head, which leaves as one segment. Smaller: more calls and segments for
// the same output. Larger: each write leaves as a full segment and a short one.
constexpr std::size_t kAtOnce = std::size_t{62} * 1024;
// The most bytes that one call takes from the socket: text for all of a reader's room, and the
// records that do not fit. Smaller: a reader's room takes two calls. Larger: more text has no room,
// and is copied for the next read.
constexpr std::size_t kMaxFresh = kAtOnce + 2 * TlsSession::kSealedRecord;
// One read of a link takes at most this many bytes from the socket, whatever text they have. If it
// were larger, a peer that sends records without text could keep the event loop for longer.
constexpr std::size_t kMaxRead = 4 * kAtOnce;

// Sends as much of the session's output as the socket takes. Returns false if the socket has
// failed, with errno.
bool flush(TlsSession& session, int fd) {
  while (!session.output().empty()) {
    const auto bytes = session.output();
    const ssize_t sent =
        retry([&] { return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
    if (sent < 0) return errno == EAGAIN;
    session.sent(static_cast<std::size_t>(sent));
  }
  return true;
}

// Reads once from the socket into the session. Returns the result of recv(2).
ssize_t fill(TlsSession& session, int fd) {
  std::array<std::byte, kAtOnce> bytes;
  const ssize_t got = retry([&] { return ::recv(fd, bytes.data(), bytes.size(), 0); });
  if (got > 0) session.receive(std::span(bytes).first(static_cast<std::size_t>(got)));
  return got;
}

// The stream after the handshake.

class TlsTransport final : public Transport {
 public:
  TlsTransport(Descriptor socket, TlsSession session)
      : socket_(std::move(socket)), session_(std::move(session)) {}
  ~TlsTransport() override { close(); }

  // Reads as much as there is room for.
  ssize_t read(char* bytes, std::size_t size) override {
    std::array<std::byte, kMaxFresh> sealed;
    const auto room = std::as_writable_bytes(std::span(bytes, size));
    std::size_t total = session_.read(room), raw = 0;
    while (total < size && raw < kMaxRead && !ended_ &&
           session_.state() == TlsSession::State::open) {
      const std::size_t most = std::min(kMaxFresh, size - total + 2 * TlsSession::kSealedRecord);
      const ssize_t got =
          retry([&] { return ::recv(socket_.native_handle(), sealed.data(), most, 0); });
      if (got < 0 && errno == EAGAIN) break;
      // A process that was killed sends no close_notify.
      if (got == 0 || (got < 0 && (errno == ECONNRESET || errno == EPIPE))) ended_ = true;
      if (got < 0 && !ended_) trouble_ = cat("the TLS connection broke: ", errno_text(errno));
      if (got <= 0) break;
      raw += static_cast<std::size_t>(got);
      const auto fresh = std::span(sealed).first(static_cast<std::size_t>(got));
      total += session_.read(room.subspan(total), fresh);
    }
    full_ = total == size || raw >= kMaxRead;
    if (session_.state() == TlsSession::State::failed && trouble_.empty())
      trouble_ = cat("the TLS connection broke: ", session_.why());
    if (total > 0) return static_cast<ssize_t>(total);
    if (ended_ || session_.state() == TlsSession::State::closed) return 0;
    return fail_with(trouble_.empty() ? EAGAIN : ECONNRESET);
  }

  // Encrypted bytes that have not left count as not written; the caller passes them again.
  ssize_t write(const iovec* parts, int count) override {
    if (staged_ == 0) stage(parts, count);
    if (session_.state() == TlsSession::State::failed ||
        !flush(session_, socket_.native_handle())) {
      return fail_with(EPIPE);
    }
    if (!session_.output().empty()) return fail_with(EAGAIN);
    return static_cast<ssize_t>(std::exchange(staged_, 0));
  }

  void wait_readable(Handler handler) override {
    if (full_ || ended_ || session_.state() != TlsSession::State::open || !trouble_.empty())
      return later(handler);
    wait(Descriptor::wait_read, std::move(handler));
  }
  void wait_writable(Handler handler) override { wait(Descriptor::wait_write, std::move(handler)); }
  void wait_closed(Handler handler) override { later(std::move(handler)); }

  void limit_silence(std::chrono::milliseconds limit) override {
    scela::limit_silence(socket_.native_handle(), limit);
  }
  void end_writing() override {
    if (!socket_.is_open()) return;
    session_.close();
    static_cast<void>(flush(session_, socket_.native_handle()));
    ::shutdown(socket_.native_handle(), SHUT_WR);
  }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
    *alive_ = false;
  }
  bool is_open() const override { return socket_.is_open(); }
  std::string trouble() const override { return trouble_; }

 private:
  void stage(const iovec* parts, int count) {
    std::vector<std::span<const std::byte>> pieces;
    for (int i = 0; i < count && staged_ < kAtOnce; ++i) {
      const std::size_t size = std::min(parts[i].iov_len, kAtOnce - staged_);
      pieces.push_back(std::as_bytes(std::span(static_cast<const char*>(parts[i].iov_base), size)));
      staged_ += size;
    }
    static_cast<void>(session_.write(pieces));
  }

  void wait(Descriptor::wait_type what, Handler handler) {
    socket_.async_wait(what,
                       [alive = alive_, handler = std::move(handler)](const error_code& error) {
                         if (!error && *alive) handler();
                       });
  }
  void later(Handler handler) {
    boost::asio::post(socket_.get_executor(), [alive = alive_, handler = std::move(handler)] {
      if (*alive) handler();
    });
  }
  static ssize_t fail_with(int number) {
    errno = number;
    return -1;
  }

  Descriptor socket_;
  TlsSession session_;
  std::size_t staged_ = 0;  // bytes in the session that have not left
  bool full_ = true;        // there may be more to read at once
  bool ended_ = false;
  std::string trouble_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// One handshake on a connected socket. Its owner limits its time.

class Handshake {
 public:
  using Done = std::function<void(tl::expected<std::unique_ptr<Transport>, std::string>)>;

  Handshake(boost::asio::io_context& io, Fd socket, TlsSession session)
      : socket_(io, socket.release()), session_(std::move(session)) {
    const int on = 1;
    ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  void begin(Done done) {
    done_ = std::move(done);
    boost::asio::post(socket_.get_executor(), [alive = alive_, this] {
      if (*alive) step();
    });
  }
  ~Handshake() { *alive_ = false; }
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

 private:
  void step() {
    const int fd = socket_.native_handle();
    ssize_t got = 1;
    while (got > 0 && session_.state() == TlsSession::State::handshake) {
      if (!flush(session_, fd)) return end(tl::unexpected(errno_text(errno)));
      got = fill(session_, fd);
    }
    const int problem = errno;
    const bool sends = flush(session_, fd);  // the last records of the handshake
    if (session_.state() == TlsSession::State::failed) {
      return end(tl::unexpected(cat("the peer does not prove the key: ", session_.why())));
    }
    if (got == 0) return end(tl::unexpected(std::string("it was closed")));
    if (got < 0 && problem != EAGAIN) return end(tl::unexpected(errno_text(problem)));
    if (!sends) return end(tl::unexpected(errno_text(errno)));
    if (!session_.output().empty()) return wait(Descriptor::wait_write);
    if (session_.state() == TlsSession::State::handshake) return wait(Descriptor::wait_read);
    end(std::make_unique<TlsTransport>(std::move(socket_), std::move(session_)));
  }
  void wait(Descriptor::wait_type what) {
    socket_.async_wait(what, [alive = alive_, this](const error_code& error) {
      if (!error && *alive) step();
    });
  }
  // The callback may destroy this object.
  void end(tl::expected<std::unique_ptr<Transport>, std::string> result) {
    if (done_) std::exchange(done_, nullptr)(std::move(result));
  }

  Descriptor socket_;
  TlsSession session_;
  Done done_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The parent's end.

class Connector final : public TlsAttempt {
 public:
  Connector(boost::asio::io_context& io, const Address& address, std::uint16_t port, SharedKey key,
            std::chrono::milliseconds limit, TlsDone done)
      : io_(io), key_(std::move(key)), done_(std::move(done)), timer_(io), watch_(io) {
    timer_.set(limit, [this, limit] {
      end(tl::unexpected(cat("no answer within ", limit.count(), " ms")));
    });
    Address target = address;
    target.set_port(port);
    socket_ = Fd(::socket(target.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket_ ||
        (::connect(socket_.get(), target.get(), target.size) != 0 && errno != EINPROGRESS)) {
      fail_later(errno_text(errno));
      return;
    }
    error_code error;
    watch_.assign(::dup(socket_.get()), error);
    if (error) {
      fail_later(error.message());
      return;
    }
    watch_.async_wait(Descriptor::wait_write,
                      [alive = std::weak_ptr<bool>(alive_), this](const error_code& failed) {
                        if (!failed && alive.lock()) connected();
                      });
  }

 private:
  void connected() {
    int problem = 0;
    socklen_t size = sizeof problem;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
    error_code ignored;
    watch_.close(ignored);
    if (problem != 0) return end(tl::unexpected(errno_text(problem)));
    handshake_ = std::make_unique<Handshake>(io_, std::move(socket_), TlsSession::client(key_));
    handshake_->begin([this](auto result) { end(std::move(result)); });
  }
  void fail_later(std::string why) {
    boost::asio::post(io_, [alive = std::weak_ptr<bool>(alive_), this, why = std::move(why)] {
      if (alive.lock()) end(tl::unexpected(why));
    });
  }
  void end(tl::expected<std::unique_ptr<Transport>, std::string> result) {
    timer_.cancel();
    if (done_) std::exchange(done_, nullptr)(std::move(result));
  }

  boost::asio::io_context& io_;
  const SharedKey key_;
  TlsDone done_;
  Alarm timer_;
  Descriptor watch_;
  Fd socket_;
  std::unique_ptr<Handshake> handshake_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The child's end.

class Acceptor final : public TlsAttempt {
 public:
  Acceptor(boost::asio::io_context& io, Fd listening, SharedKey key,
           std::chrono::milliseconds limit, TlsDone done)
      : io_(io),
        key_(std::move(key)),
        done_(std::move(done)),
        timer_(io),
        listener_(io, listening.release()),
        stranger_limit_(limit / kUnprovenShare) {
    timer_.set(limit, [this, limit] {
      end(tl::unexpected(cat("nobody proved the key within ", limit.count(), " ms")));
    });
    // The caller first tells the parent the port. The parent takes some time until it connects.
    boost::asio::post(io, &TlsSession::prepare_server);
    wait();
  }

 private:
  struct Stranger {
    Stranger(boost::asio::io_context& io, Fd socket, const SharedKey& key)
        : handshake(io, std::move(socket), TlsSession::server([&key](std::string_view named) {
                      return named == key.identity ? key.secret : std::string();
                    })),
          timer(io) {}
    Handshake handshake;
    Alarm timer;
    bool gone = false;  // forgotten, but a wait may still call
  };

  void wait() {
    if (waiting_ || !listener_.is_open()) return;
    waiting_ = true;
    listener_.async_wait(Descriptor::wait_read,
                         [alive = std::weak_ptr<bool>(alive_), this](const error_code& error) {
                           // The handler of a listener that was destroyed still runs.
                           if (!alive.lock()) return;
                           waiting_ = false;
                           if (error) return;
                           accept();
                           wait();
                         });
  }
  void accept() {
    Fd socket(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    if (strangers_.size() >= kMaxUnproven) forget(strangers_.begin());
    strangers_.emplace_back(io_, std::move(socket), key_);
    const auto one = std::prev(strangers_.end());
    one->timer.set(stranger_limit_, [this, one] { forget(one); });
    one->handshake.begin([this, one](auto result) {
      if (!result) return forget(one);
      if (!one->gone) end(std::move(result));
    });
  }
  void forget(std::list<Stranger>::iterator one) {
    if (std::exchange(one->gone, true)) return;
    // It must not be destroyed from within its own call.
    one->timer.cancel();
    gone_.splice(gone_.end(), strangers_, one);
    boost::asio::post(io_, [alive = std::weak_ptr<bool>(alive_), this] {
      if (alive.lock()) gone_.clear();
    });
  }
  void end(tl::expected<std::unique_ptr<Transport>, std::string> result) {
    timer_.cancel();
    error_code ignored;
    listener_.close(ignored);
    for (Stranger& one : strangers_) {
      one.gone = true;
      one.timer.cancel();
    }
    gone_.splice(gone_.end(), strangers_);
    boost::asio::post(io_, [alive = std::weak_ptr<bool>(alive_), this] {
      if (alive.lock()) gone_.clear();
    });
    if (done_) std::exchange(done_, nullptr)(std::move(result));
  }

  boost::asio::io_context& io_;
  const SharedKey key_;
  TlsDone done_;
  Alarm timer_;
  Descriptor listener_;
  std::list<Stranger> strangers_, gone_;
  const std::chrono::milliseconds stranger_limit_;
  bool waiting_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<TlsAttempt> connect_tls(boost::asio::io_context& io, const Address& address,
                                        std::uint16_t port, SharedKey key,
                                        std::chrono::milliseconds limit, TlsDone done) {
  return std::make_unique<Connector>(io, address, port, std::move(key), limit, std::move(done));
}

std::unique_ptr<TlsAttempt> accept_tls(boost::asio::io_context& io, Fd listening, SharedKey key,
                                       std::chrono::milliseconds limit, TlsDone done) {
  return std::make_unique<Acceptor>(io, std::move(listening), std::move(key), limit,
                                    std::move(done));
}

}  // namespace scela::nla
