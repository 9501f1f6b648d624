#include "nla/link/tls.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <optional>
#include <utility>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "common/os/syscall.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::asio::steady_timer;
using boost::system::error_code;

// One record (RFC 8446 section 5.1).
constexpr std::size_t kRecord = std::size_t{16} * 1024;
// Records under one key: AES-GCM is good for 2^24.5 of them (RFC 8446 section 5.5).
constexpr std::uint64_t kRecordsPerKey = std::uint64_t{1} << 22;

template <class T, void (*kFree)(T*)>
struct Free {
  void operator()(T* one) const { kFree(one); }
};
using Ssl = std::unique_ptr<SSL, Free<SSL, ::SSL_free>>;
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX, ::SSL_CTX_free>>;

// Before the library first sets itself up: no configuration file of the node may change what is
// encrypted how, or load anything.
__attribute__((constructor(101))) void load_no_config() {
  ::OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
}

std::string library_error() {
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  const char* text = code == 0 ? nullptr : ::ERR_reason_error_string(code);
  return text == nullptr ? "the TLS library gives no reason" : text;
}

// The key as the library takes it: a session as if it had been agreed before.
SSL_SESSION* make_session(SSL* ssl, const LinkKey& key) {
  static constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};
  const SSL_CIPHER* cipher = ::SSL_CIPHER_find(ssl, kAes128GcmSha256);
  SSL_SESSION* session = ::SSL_SESSION_new();
  if (session == nullptr || cipher == nullptr ||
      ::SSL_SESSION_set1_master_key(session,
                                    reinterpret_cast<const unsigned char*>(key.secret.data()),
                                    key.secret.size()) != 1 ||
      ::SSL_SESSION_set_cipher(session, cipher) != 1 ||
      ::SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
    ::SSL_SESSION_free(session);
    return nullptr;
  }
  return session;
}

const LinkKey& key_of(SSL* ssl) {
  return *static_cast<const LinkKey*>(SSL_get_app_data(ssl));
}

int use_session(SSL* ssl, const EVP_MD* digest, const unsigned char** identity, std::size_t* size,
                SSL_SESSION** session) {
  const LinkKey& key = key_of(ssl);
  *session = nullptr;
  *identity = reinterpret_cast<const unsigned char*>(key.identity.data());
  *size = key.identity.size();
  // Asked again, for a hash that the key is not for: then there is none.
  if (digest != nullptr && ::EVP_MD_get_type(digest) != NID_sha256) return 1;
  *session = make_session(ssl, key);
  return *session != nullptr;
}

int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  const LinkKey& key = key_of(ssl);
  *session = nullptr;
  if (std::string_view(reinterpret_cast<const char*>(identity), size) != key.identity) return 1;
  *session = make_session(ssl, key);
  return *session != nullptr;
}

Context make_context(bool server) {
  Context context(::SSL_CTX_new(server ? ::TLS_server_method() : ::TLS_client_method()));
  if (!context) return nullptr;
  SSL_CTX* ctx = context.get();
  ::SSL_CTX_clear_options(ctx, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
  ::SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  // A child without the key would have to show a certificate, which no parent accepts; no child
  // has one, and it asks for none.
  if (!server) ::SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
  const bool good = SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
                    SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) == 1 &&
                    ::SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256") == 1 &&
                    SSL_CTX_set1_groups_list(ctx, "X25519:P-256") == 1 &&
                    ::SSL_CTX_set_num_tickets(ctx, 0) == 1 &&
                    ::SSL_CTX_set_max_early_data(ctx, 0) == 1 &&
                    ::SSL_CTX_set_recv_max_early_data(ctx, 0) == 1;
  if (!good) return nullptr;
  if (server) {
    ::SSL_CTX_set_psk_find_session_callback(ctx, find_session);
  } else {
    ::SSL_CTX_set_psk_use_session_callback(ctx, use_session);
  }
  return context;
}

Ssl make_ssl(bool server, int fd, const LinkKey& key) {
  const Context context = make_context(server);
  Ssl ssl(context ? ::SSL_new(context.get()) : nullptr);
  if (!ssl || ::SSL_set_fd(ssl.get(), fd) != 1) return nullptr;
  SSL_set_app_data(ssl.get(), const_cast<LinkKey*>(&key));
  if (server) {
    ::SSL_set_accept_state(ssl.get());
  } else {
    ::SSL_set_connect_state(ssl.get());
  }
  return ssl;
}

// The stream after the handshake.

class TlsTransport final : public Transport {
 public:
  TlsTransport(Descriptor socket, Ssl ssl) : socket_(std::move(socket)), ssl_(std::move(ssl)) {
    SSL_set_app_data(ssl_.get(), nullptr);
  }
  ~TlsTransport() override { close(); }

  // As many records as there is room for.
  ssize_t read(char* bytes, std::size_t size) override {
    std::size_t total = 0;
    while (total < size && !ended_) {
      std::size_t got = 0;
      ::ERR_clear_error();
      const int result = ::SSL_read_ex(ssl_.get(), bytes + total, size - total, &got);
      total += got;
      if (result != 1 && !note_end(result)) break;
    }
    if (total > 0) return static_cast<ssize_t>(total);
    if (ended_) return 0;
    return fail_with(trouble_.empty() ? EAGAIN : ECONNRESET);
  }

  ssize_t write(const iovec* parts, int count) override {
    ssize_t total = 0;
    std::size_t skip = 0;
    for (int part = 0; part < count;) {
      // What the library could not write must be given to it again as it was.
      if (staged_ == 0) stage(parts, count, part, skip);
      const ssize_t wrote = write_staged();
      if (wrote < 0) return total > 0 ? total : -1;
      total += wrote;
      auto left = static_cast<std::size_t>(wrote);
      while (part < count && left >= parts[part].iov_len - skip) {
        left -= parts[part].iov_len - skip;
        skip = 0;
        ++part;
      }
      skip += left;
    }
    return total;
  }

  void wait_readable(Handler handler) override {
    if (::SSL_has_pending(ssl_.get()) != 0 || ended_ || !trouble_.empty()) return later(handler);
    wait(Descriptor::wait_read, std::move(handler));
  }
  void wait_writable(Handler handler) override { wait(Descriptor::wait_write, std::move(handler)); }
  void wait_closed(Handler handler) override { later(std::move(handler)); }

  void end_writing() override {
    if (!socket_.is_open()) return;
    ::ERR_clear_error();
    if (staged_ == 0) static_cast<void>(::SSL_shutdown(ssl_.get()));
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
  // False: nothing more can be read now, or ever.
  bool note_end(int result) {
    switch (::SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        return false;
      case SSL_ERROR_ZERO_RETURN:
        ended_ = true;
        return false;
      default:
        break;
    }
    const int number = errno;
    const unsigned long code = ::ERR_peek_error();
    // A process that was killed sends no farewell.
    if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING ||
        (code == 0 && (number == 0 || number == ECONNRESET || number == EPIPE))) {
      ended_ = true;
    } else {
      trouble_ =
          cat("the TLS connection broke: ", code == 0 ? errno_text(number) : library_error());
    }
    return false;
  }

  void stage(const iovec* parts, int count, int part, std::size_t skip) {
    for (; part < count && staged_ < kRecord; ++part, skip = 0) {
      const std::size_t piece = std::min(parts[part].iov_len - skip, kRecord - staged_);
      std::copy_n(static_cast<const char*>(parts[part].iov_base) + skip, piece,
                  record_.data() + staged_);
      staged_ += piece;
    }
  }

  ssize_t write_staged() {
    if (staged_ == 0) return 0;
    std::size_t wrote = 0;
    ::ERR_clear_error();
    const int result = ::SSL_write_ex(ssl_.get(), record_.data(), staged_, &wrote);
    if (result != 1) {
      const int why = ::SSL_get_error(ssl_.get(), result);
      return fail_with(why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ ? EAGAIN : EPIPE);
    }
    staged_ = 0;
    if (++records_ % kRecordsPerKey == 0) {
      ::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    return static_cast<ssize_t>(wrote);
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
  Ssl ssl_;
  std::array<char, kRecord> record_;
  std::size_t staged_ = 0;
  std::uint64_t records_ = 0;
  bool ended_ = false;
  std::string trouble_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// One handshake on a connected socket, until its limit.

class Handshake {
 public:
  using Done = std::function<void(tl::expected<std::unique_ptr<Transport>, std::string>)>;

  // `key` outlives this.
  Handshake(boost::asio::io_context& io, Fd socket, bool server, const LinkKey& key)
      : socket_(io, socket.get()), ssl_(make_ssl(server, socket.release(), key)) {
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
    if (!ssl_) return end(tl::unexpected(library_error()));
    ::ERR_clear_error();
    const int result = ::SSL_do_handshake(ssl_.get());
    if (result == 1) return finish();
    const int problem = errno;
    switch (::SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return wait(Descriptor::wait_read);
      case SSL_ERROR_WANT_WRITE:
        return wait(Descriptor::wait_write);
      case SSL_ERROR_SYSCALL:
        if (::ERR_peek_error() == 0) {
          return end(
              tl::unexpected(problem == 0 ? std::string("it was closed") : errno_text(problem)));
        }
        [[fallthrough]];
      default:
        return end(tl::unexpected(cat("the peer does not prove the key: ", library_error())));
    }
  }
  // Only by the shared key, or it proves nothing.
  void finish() {
    if (::SSL_session_reused(ssl_.get()) != 1) {
      return end(tl::unexpected(std::string("the peer has not used the key")));
    }
    end(std::make_unique<TlsTransport>(std::move(socket_), std::move(ssl_)));
  }
  void wait(Descriptor::wait_type what) {
    socket_.async_wait(what, [alive = alive_, this](const error_code& error) {
      if (!error && *alive) step();
    });
  }
  // Whoever is told may destroy this.
  void end(tl::expected<std::unique_ptr<Transport>, std::string> result) {
    if (done_) std::exchange(done_, nullptr)(std::move(result));
  }

  Descriptor socket_;
  Ssl ssl_;
  Done done_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The parent's end.

class Connector final : public TlsAttempt {
 public:
  Connector(boost::asio::io_context& io, const Address& address, std::uint16_t port, LinkKey key,
            std::chrono::milliseconds limit, TlsDone done)
      : io_(io), key_(std::move(key)), done_(std::move(done)), timer_(io), watch_(io), port_(port) {
    timer_.expires_after(limit);
    timer_.async_wait([this, limit](const error_code& error) {
      if (!error) end(tl::unexpected(cat("no answer within ", limit.count(), " ms")));
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
    watch_.async_wait(Descriptor::wait_write, [this](const error_code& failed) {
      if (!failed) connected();
    });
  }
  std::uint16_t port() const override { return port_; }

 private:
  void connected() {
    int problem = 0;
    socklen_t size = sizeof problem;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
    error_code ignored;
    watch_.close(ignored);
    if (problem != 0) return end(tl::unexpected(errno_text(problem)));
    handshake_ = std::make_unique<Handshake>(io_, std::move(socket_), false, key_);
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
  const LinkKey key_;
  TlsDone done_;
  steady_timer timer_;
  Descriptor watch_;
  Fd socket_;
  std::unique_ptr<Handshake> handshake_;
  std::uint16_t port_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The child's end.

class Acceptor final : public TlsAttempt {
 public:
  Acceptor(boost::asio::io_context& io, Fd listening, std::uint16_t port, LinkKey key,
           std::chrono::milliseconds limit, TlsDone done)
      : io_(io),
        key_(std::move(key)),
        done_(std::move(done)),
        timer_(io),
        listener_(io, listening.release()),
        stranger_limit_(limit / kUnprovenShare),
        port_(port) {
    timer_.expires_after(limit);
    timer_.async_wait([this, limit](const error_code& error) {
      if (!error) end(tl::unexpected(cat("nobody proved the key within ", limit.count(), " ms")));
    });
    wait();
  }
  std::uint16_t port() const override { return port_; }

 private:
  struct Stranger {
    Stranger(boost::asio::io_context& io, Fd socket, const LinkKey& key)
        : handshake(io, std::move(socket), true, key), timer(io) {}
    Handshake handshake;
    steady_timer timer;
    bool gone = false;  // forgotten, though what it has waited for may still call
  };

  void wait() {
    if (waiting_ || !listener_.is_open()) return;
    waiting_ = true;
    listener_.async_wait(Descriptor::wait_read, [this](const error_code& error) {
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
    one->timer.expires_after(stranger_limit_);
    one->timer.async_wait([this, one](const error_code& error) {
      if (!error) forget(one);
    });
    one->handshake.begin([this, one](auto result) {
      if (!result) return forget(one);
      if (!one->gone) end(std::move(result));
    });
  }
  void forget(std::list<Stranger>::iterator one) {
    if (std::exchange(one->gone, true)) return;
    // Not from within its own call.
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
  const LinkKey key_;
  TlsDone done_;
  steady_timer timer_;
  Descriptor listener_;
  std::list<Stranger> strangers_, gone_;
  const std::chrono::milliseconds stranger_limit_;
  std::uint16_t port_;
  bool waiting_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<TlsAttempt> connect_tls(boost::asio::io_context& io, const Address& address,
                                        std::uint16_t port, LinkKey key,
                                        std::chrono::milliseconds limit, TlsDone done) {
  return std::make_unique<Connector>(io, address, port, std::move(key), limit, std::move(done));
}

Result<std::unique_ptr<TlsAttempt>> accept_tls(boost::asio::io_context& io, Address address,
                                               LinkKey key, std::chrono::milliseconds limit,
                                               TlsDone done) {
  const auto refused = [&](const char* what) {
    return fail(os_error(ErrorKind::io, cat(what, " for a direct connection"), errno, ""));
  };
  address.set_port(0);
  Fd listening(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listening) return refused("make a socket");
  if (::bind(listening.get(), address.get(), address.size) != 0) return refused("take a port");
  if (::listen(listening.get(), kMaxUnproven) != 0) return refused("listen");
  if (::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address.storage),
                    &address.size) != 0) {
    return refused("learn the port");
  }
  return std::make_unique<Acceptor>(io, std::move(listening), address.port(), std::move(key), limit,
                                    std::move(done));
}

}  // namespace scela::nla
