#define OPENSSL_SUPPRESS_DEPRECATED  // for ERR_load_SSL_strings()

#include "common/crypto/tls_session.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "common/crypto/hmac.h"
#include "common/crypto/tls_algorithms.h"

namespace scela {

namespace {

// Bytes. A buffer that held more gives its memory back once it is empty. With a smaller value a
// large write grows its buffer each time. A larger value keeps memory of connections that are not
// used.
constexpr std::size_t kKeptRoom = std::size_t{96} * 1024;
// A handshake brings at most this many bytes. The longest hello that the library takes is of some
// 128 KiB. With a larger value, a peer that does not know the key could cost more memory.
constexpr std::size_t kMaxHandshake = std::size_t{192} * 1024;
// The bytes that a record has beside its text: head, kind and tag (RFC 8446, section 5.2).
constexpr std::size_t kRecordOverhead = 5 + 1 + 16;

template <class T, void (*kFree)(T*)>
struct Free {
  void operator()(T* one) const { kFree(one); }
};
using Ssl = std::unique_ptr<SSL, Free<SSL, ::SSL_free>>;
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX, ::SSL_CTX_free>>;

// Runs before the library first sets itself up. No configuration file of the node may change the
// encryption, or load anything. The library's old tables of names are a third of the time that it
// takes to set itself up; nothing here finds an algorithm by them. library_error() loads the texts
// of TLS if there is an error; other errors of the library have numbers. What the library holds at
// the end of the process goes with the process, which takes less than to free it.
__attribute__((constructor(101))) void set_library_up() {
  ::OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ADD_ALL_CIPHERS |
                            OPENSSL_INIT_NO_ADD_ALL_DIGESTS | OPENSSL_INIT_NO_ATEXIT |
                            OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS,
                        nullptr);
}

// Returns the reason of the oldest error, and forgets all. Only TLS itself has texts here: those of
// other parts of the library would bring all of them along.
std::string library_error() {
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  if (code == 0) return "the TLS library gives no reason";
  ::ERR_load_SSL_strings();
  const char* text = ::ERR_reason_error_string(code);
  std::array<char, 64> number{};
  ::ERR_error_string_n(code, number.data(), number.size());
  return text == nullptr ? number.data() : text;
}

// Bytes that are added at the end and taken from the front.
class Buffer {
 public:
  std::span<const std::byte> waiting() const { return std::span(bytes_).subspan(taken_); }
  // Makes room for so many bytes more at once, not in steps.
  void expect(std::size_t more) { bytes_.reserve(bytes_.size() + more); }
  void add(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void take(std::size_t count) {
    taken_ += count;
    if (taken_ < bytes_.size()) return;
    bytes_.clear();
    taken_ = 0;
    if (bytes_.capacity() > kKeptRoom) bytes_ = {};
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t taken_ = 0;
};

}  // namespace

struct TlsSession::Parts {
  Buffer in, out;                    // bytes of the connection
  std::span<const std::byte> fresh;  // comes after `in`, and is not copied
  SharedKey key;                     // for a client
  Lookup lookup;                     // for a server
  State state = State::handshake;
  std::string why;
  std::size_t greeted = 0;    // bytes that came before the session was open
  bool has_new_key = false;   // the other end has changed its key and has sent no text since
  std::string breach;         // what the other end has sent against the rules of these sessions
  std::uint64_t records = 0;  // records that were written
  std::uint64_t records_per_key = kRecordsPerKey;
  Ssl ssl;

  void fail(std::string reason) {
    if (state == State::failed) return;
    state = State::failed;
    why = std::move(reason);
  }
  // Takes notice of a library call that has done less than it was asked for.
  void note(int result);
  void go_on();
  // Looks at a message of the handshake layer that came on an open session.
  void check_message(std::span<const unsigned char> message);
};

namespace {

using Parts = TlsSession::Parts;

// Makes the key as the library takes it: a session as if it had been agreed before.
SSL_SESSION* make_session(SSL* ssl, std::string_view secret) {
  static constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};
  const SSL_CIPHER* cipher = ::SSL_CIPHER_find(ssl, kAes128GcmSha256);
  SSL_SESSION* session = ::SSL_SESSION_new();
  if (session == nullptr || cipher == nullptr ||
      ::SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(secret.data()),
                                    secret.size()) != 1 ||
      ::SSL_SESSION_set_cipher(session, cipher) != 1 ||
      ::SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
    ::SSL_SESSION_free(session);
    return nullptr;
  }
  return session;
}

// Returns the session's parts for a callback of the library.
Parts& parts_of(const SSL* ssl) {
  return *static_cast<Parts*>(SSL_get_app_data(ssl));
}

int use_session(SSL* ssl, const EVP_MD* digest, const unsigned char** identity, std::size_t* size,
                SSL_SESSION** session) {
  const SharedKey& key = parts_of(ssl).key;
  *session = nullptr;
  *identity = reinterpret_cast<const unsigned char*>(key.identity.data());
  *size = key.identity.size();
  // The library asks again for a hash that the key does not suit: then there is no session.
  if (digest != nullptr && ::EVP_MD_is_a(digest, "SHA256") != 1) return 1;
  *session = make_session(ssl, key.secret);
  return *session != nullptr;
}

int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  *session = nullptr;
  std::string secret = parts_of(ssl).lookup({reinterpret_cast<const char*>(identity), size});
  if (secret.empty()) return 1;
  *session = make_session(ssl, secret);
  wipe(secret);
  return *session != nullptr;
}

// These functions are the connection as the library sees it: the two buffers of a session.

int read_some(BIO* bio, char* to, std::size_t size, std::size_t* count) {
  Parts& parts = *static_cast<Parts*>(::BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const bool is_fresh = parts.in.waiting().empty();
  const auto waiting = is_fresh ? parts.fresh : parts.in.waiting();
  *count = std::min(size, waiting.size());
  if (*count == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::copy_n(waiting.begin(), *count, reinterpret_cast<std::byte*>(to));
  if (is_fresh) {
    parts.fresh = parts.fresh.subspan(*count);
  } else {
    parts.in.take(*count);
  }
  return 1;
}

int write_some(BIO* bio, const char* from, std::size_t size, std::size_t* count) {
  static_cast<Parts*>(::BIO_get_data(bio))->out.add(std::as_bytes(std::span(from, size)));
  *count = size;
  return 1;
}

long control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

// Is called for each message of the TLS layers that the library sends or has read.
void see_message(int is_sent, int, int type, const void* bytes, std::size_t size, SSL* ssl, void*) {
  Parts& parts = parts_of(ssl);
  if (is_sent == 0 && type == SSL3_RT_HANDSHAKE && parts.state == TlsSession::State::open)
    parts.check_message({static_cast<const unsigned char*>(bytes), size});
}

BIO* make_bio(Parts& parts) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "scela");
    if (made != nullptr) {
      ::BIO_meth_set_read_ex(made, read_some);
      ::BIO_meth_set_write_ex(made, write_some);
      ::BIO_meth_set_ctrl(made, control);
    }
    return made;
  }();
  BIO* const bio = method == nullptr ? nullptr : ::BIO_new(method);
  if (bio == nullptr) return nullptr;
  ::BIO_set_data(bio, &parts);
  ::BIO_set_init(bio, 1);
  return bio;
}

Context make_context(bool server) {
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ADD_ALL_CIPHERS |
                         OPENSSL_INIT_NO_ADD_ALL_DIGESTS | OPENSSL_INIT_NO_LOAD_SSL_STRINGS,
                     nullptr);
  Context context(::SSL_CTX_new_ex(tls_algorithms(), nullptr,
                                   server ? ::TLS_server_method() : ::TLS_client_method()));
  if (!context) return nullptr;
  SSL_CTX* ctx = context.get();
  ::SSL_CTX_clear_options(ctx, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
  ::SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  // A server without the key would have to show a certificate. Clients accept none, servers have
  // none, and servers ask for none.
  if (!server) ::SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
  const bool good =
      SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
      SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) == 1 &&
      ::SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256") == 1 &&
      SSL_CTX_set1_groups_list(ctx, "X25519") == 1 &&
      SSL_CTX_set1_sigalgs_list(ctx, "ed25519") == 1 && ::SSL_CTX_set_num_tickets(ctx, 0) == 1 &&
      ::SSL_CTX_set_max_early_data(ctx, 0) == 1 && ::SSL_CTX_set_recv_max_early_data(ctx, 0) == 1;
  if (!good) return nullptr;
  if (server) {
    ::SSL_CTX_set_psk_find_session_callback(ctx, find_session);
  } else {
    ::SSL_CTX_set_psk_use_session_callback(ctx, use_session);
  }
  return context;
}

// The process has one context of each kind that it uses: the library takes longer to make one than
// for a handshake.
SSL_CTX* context_for(bool server) {
  if (server) {
    static const Context serving = make_context(true);
    return serving.get();
  }
  static const Context client = make_context(false);
  return client.get();
}

Ssl make_ssl(Parts& parts, bool server) {
  SSL_CTX* const context = context_for(server);
  Ssl ssl(context != nullptr ? ::SSL_new(context) : nullptr);
  BIO* const bio = ssl ? make_bio(parts) : nullptr;
  if (bio == nullptr) return nullptr;
  ::SSL_set_bio(ssl.get(), bio, bio);
  SSL_set_app_data(ssl.get(), &parts);
  ::SSL_set_msg_callback(ssl.get(), see_message);
  if (server) {
    ::SSL_set_accept_state(ssl.get());
  } else {
    ::SSL_set_connect_state(ssl.get());
  }
  return ssl;
}

}  // namespace

void TlsSession::Parts::note(int result) {
  switch (::SSL_get_error(ssl.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return;
    case SSL_ERROR_ZERO_RETURN:
      if (state != State::open) return fail("the other end has closed the connection");
      state = State::closed;
      return;
    default:
      return fail(library_error());
  }
}

void TlsSession::Parts::go_on() {
  if (state != State::handshake) return;
  ::ERR_clear_error();
  const int result = ::SSL_do_handshake(ssl.get());
  if (result != 1) {
    note(result);
    // The library reads all that there is before it waits for more. If it does not, it has seen the
    // end of the connection, and would leave everything that comes unread.
    if (state == State::handshake && !in.waiting().empty())
      fail("the other end has sent more after the end of the connection");
    return;
  }
  // The handshake must have used the shared key, or it proves nothing.
  if (::SSL_session_reused(ssl.get()) != 1) return fail("the other end has not used the key");
  state = State::open;
  wipe(key.secret);
  lookup = nullptr;
}

void TlsSession::Parts::check_message(std::span<const unsigned char> message) {
  constexpr std::size_t kHead = 4;  // the kind, and the length in three bytes
  if (message.empty()) return;
  if (message[0] == SSL3_MT_NEWSESSION_TICKET) breach = "it has sent a ticket, which is not used";
  if (message[0] != SSL3_MT_KEY_UPDATE) return;
  if (message.size() <= kHead || message[kHead] != SSL_KEY_UPDATE_NOT_REQUESTED)
    breach = "it has asked for another key";
  if (std::exchange(has_new_key, true)) breach = "it changes its key without need";
}

TlsSession::TlsSession(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {
  parts_->ssl = make_ssl(*parts_, parts_->lookup != nullptr);
  if (parts_->ssl) {
    parts_->go_on();
  } else {
    parts_->fail(library_error());
  }
}
TlsSession::~TlsSession() = default;
TlsSession::TlsSession(TlsSession&&) noexcept = default;
TlsSession& TlsSession::operator=(TlsSession&&) noexcept = default;

void TlsSession::prepare_client() {
  static_cast<void>(context_for(false));
}

void TlsSession::prepare_server() {
  static_cast<void>(context_for(true));
}

TlsSession TlsSession::client(SharedKey key, std::uint64_t records_per_key) {
  auto parts = std::make_unique<Parts>();
  parts->records_per_key = records_per_key;
  parts->key = std::move(key);
  return TlsSession(std::move(parts));
}

TlsSession TlsSession::server(Lookup lookup, std::uint64_t records_per_key) {
  auto parts = std::make_unique<Parts>();
  parts->records_per_key = records_per_key;
  parts->lookup = std::move(lookup);
  return TlsSession(std::move(parts));
}

TlsSession::State TlsSession::state() const {
  return parts_->state;
}

const std::string& TlsSession::why() const {
  return parts_->why;
}

void TlsSession::receive(std::span<const std::byte> sealed) {
  if (parts_->state == State::failed) return;
  if (parts_->state == State::handshake) {
    parts_->greeted += sealed.size();
    if (parts_->greeted > kMaxHandshake) return parts_->fail("the handshake is too long");
  }
  parts_->in.add(sealed);
  parts_->go_on();
}

std::size_t TlsSession::read(std::span<std::byte> room, std::span<const std::byte> sealed) {
  std::size_t total = 0;
  parts_->fresh = sealed;
  while (parts_->state == State::open && total < room.size()) {
    std::size_t got = 0;
    ::ERR_clear_error();
    const int result =
        ::SSL_read_ex(parts_->ssl.get(), room.data() + total, room.size() - total, &got);
    total += got;
    if (!parts_->breach.empty()) parts_->fail(parts_->breach);
    if (result == 1) {
      parts_->has_new_key = false;
      continue;
    }
    parts_->note(result);
    break;
  }
  const auto left = std::exchange(parts_->fresh, {});
  if (parts_->state != State::failed) parts_->in.add(left);
  return total;
}

bool TlsSession::write(std::span<const std::span<const std::byte>> pieces) {
  std::array<std::byte, kRecord> record;
  std::size_t held = 0, all = 0;
  for (const std::span<const std::byte> piece : pieces)
    all += piece.size();
  parts_->out.expect(all + (all / kRecord + 1) * kRecordOverhead);
  const auto write_one = [&](std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    std::size_t wrote = 0;
    ::ERR_clear_error();
    if (::SSL_write_ex(parts_->ssl.get(), bytes.data(), bytes.size(), &wrote) != 1)
      return parts_->fail(library_error());
    if (++parts_->records % parts_->records_per_key == 0 &&
        ::SSL_key_update(parts_->ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) {
      parts_->fail(library_error());
    }
  };
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty() && parts_->state != State::failed) {
      // Whole records are written without a copy.
      if (held == 0 && piece.size() >= kRecord) {
        write_one(piece.first(kRecord));
        piece = piece.subspan(kRecord);
        continue;
      }
      const auto part = piece.first(std::min(piece.size(), kRecord - held));
      std::copy(part.begin(), part.end(), record.begin() + static_cast<std::ptrdiff_t>(held));
      held += part.size();
      piece = piece.subspan(part.size());
      if (held == kRecord) write_one(std::span(record).first(std::exchange(held, 0)));
    }
  }
  write_one(std::span(record).first(held));
  return parts_->state != State::failed;
}

void TlsSession::close() {
  ::ERR_clear_error();
  if (parts_->state == State::open || parts_->state == State::closed)
    static_cast<void>(::SSL_shutdown(parts_->ssl.get()));
}

std::span<const std::byte> TlsSession::output() const {
  return parts_->out.waiting();
}

void TlsSession::sent(std::size_t count) {
  parts_->out.take(count);
}

std::span<const std::byte> TlsSession::rest() const {
  return parts_->in.waiting();
}

}  // namespace scela
