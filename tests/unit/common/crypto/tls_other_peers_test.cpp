// A session against ends that are no sessions of this library: OpenSSL with a certificate, with an
// older version, or with several pre-shared keys. The test carries the bytes between the two.
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <catch2/catch.hpp>
#include <memory>

#include "common/crypto/tls_session.h"

namespace tls_other_peers_test {

using namespace scela;
using State = TlsSession::State;

namespace {

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* one) const {
    kFree(one);
  }
};
using Context = std::unique_ptr<SSL_CTX, Free<::SSL_CTX_free>>;
using Ticket = std::unique_ptr<SSL_SESSION, Free<::SSL_SESSION_free>>;

const SharedKey kKey{"one", std::string(32, 'k')};

TlsSession server() {
  return TlsSession::server(
      [](std::string_view name) { return name == kKey.identity ? kKey.secret : std::string(); });
}

// A certificate that signs itself, for a server that any browser would speak to.
void certify(SSL_CTX* context) {
  const std::unique_ptr<EVP_PKEY, Free<::EVP_PKEY_free>> key(::EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, Free<::X509_free>> made(::X509_new());
  REQUIRE(::X509_set_version(made.get(), X509_VERSION_3) == 1);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(made.get()), 1);
  ::X509_gmtime_adj(::X509_getm_notBefore(made.get()), -3600);
  ::X509_gmtime_adj(::X509_getm_notAfter(made.get()), 3600);
  ::X509_set_pubkey(made.get(), key.get());
  ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("host"), -1, -1, 0);
  ::X509_set_issuer_name(made.get(), ::X509_get_subject_name(made.get()));
  REQUIRE(::X509_sign(made.get(), key.get(), ::EVP_sha256()) > 0);
  REQUIRE(::SSL_CTX_use_certificate(context, made.get()) == 1);
  REQUIRE(::SSL_CTX_use_PrivateKey(context, key.get()) == 1);
}

// An end of OpenSSL's, between two buffers.
class Other {
 public:
  Other(SSL_CTX* context, bool connects) : ssl_(::SSL_new(context)) {
    in_ = ::BIO_new(::BIO_s_mem());
    out_ = ::BIO_new(::BIO_s_mem());
    ::SSL_set_bio(ssl_.get(), in_, out_);
    if (connects) {
      ::SSL_set_connect_state(ssl_.get());
    } else {
      ::SSL_set_accept_state(ssl_.get());
    }
  }
  SSL* ssl() const { return ssl_.get(); }
  void receive(std::string_view bytes) {
    ::BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
  }
  // Goes on as far as the bytes lead, and returns what is to be sent.
  std::string go_on() {
    ::SSL_do_handshake(ssl_.get());
    char byte = 0;
    while (::SSL_read(ssl_.get(), &byte, 1) > 0) {
    }
    std::string bytes(::BIO_ctrl_pending(out_), '\0');
    if (!bytes.empty()) ::BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  void send(std::string_view text) {
    REQUIRE(::SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) > 0);
  }
  bool is_open() const { return ::SSL_is_init_finished(ssl_.get()) == 1; }

 private:
  std::unique_ptr<SSL, Free<::SSL_free>> ssl_;
  BIO* in_ = nullptr;  // the session owns both
  BIO* out_ = nullptr;
};

std::string take_output(TlsSession& session) {
  const auto out = session.output();
  std::string taken(reinterpret_cast<const char*>(out.data()), out.size());
  session.sent(taken.size());
  return taken;
}

// Carries what both ends send until neither sends more.
void run(TlsSession& ours, Other& other) {
  for (bool more = true; more;) {
    const std::string there = take_output(ours);
    other.receive(there);
    const std::string back = other.go_on();
    ours.receive(std::as_bytes(std::span(back)));
    more = !there.empty() || !back.empty();
  }
}

// The secrets of the pre-shared key that use_key() offers.
char offered = 'k';

int use_key(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size,
            SSL_SESSION** session) {
  static constexpr unsigned char kCipher[] = {0x13, 0x01};
  const std::string secret(32, offered);
  *session = ::SSL_SESSION_new();
  ::SSL_SESSION_set1_master_key(*session, reinterpret_cast<const unsigned char*>(secret.data()),
                                32);
  ::SSL_SESSION_set_cipher(*session, ::SSL_CIPHER_find(ssl, kCipher));
  ::SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
  *identity = reinterpret_cast<const unsigned char*>("one");
  *size = 3;
  return 1;
}

// A ticket of a server that the test plays too: the first identity of a client that offers two.
Ticket ticket_of_another_server() {
  const Context serves(::SSL_CTX_new(::TLS_server_method()));
  certify(serves.get());
  const Context connects(::SSL_CTX_new(::TLS_client_method()));
  Other here(connects.get(), true), there(serves.get(), false);
  for (int i = 0; i < 4; ++i) {
    there.receive(here.go_on());
    here.receive(there.go_on());
  }
  REQUIRE(here.is_open());
  here.go_on();
  // The library takes the ticket of a connection that was not closed for worthless.
  ::SSL_set_shutdown(here.ssl(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  return Ticket(::SSL_get1_session(here.ssl()));
}

}  // namespace

TEST_CASE("a server that proves itself by a certificate is not taken for the one with the key") {
  const Context context(::SSL_CTX_new(::TLS_server_method()));
  certify(context.get());
  TlsSession ours = TlsSession::client(kKey);
  Other other(context.get(), false);
  run(ours, other);
  CHECK(ours.state() == State::failed);
  CHECK_FALSE(ours.why().empty());
  const auto text = std::as_bytes(std::span("a secret", 8));
  CHECK_FALSE(ours.write({&text, 1}));
}

TEST_CASE("a client without a key is let in by no version of TLS") {
  const int version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
  const Context context(::SSL_CTX_new(::TLS_client_method()));
  ::SSL_CTX_set_min_proto_version(context.get(), version);
  ::SSL_CTX_set_max_proto_version(context.get(), version);
  TlsSession ours = server();
  Other other(context.get(), true);
  run(ours, other);
  CHECK(ours.state() == State::failed);
  CHECK_FALSE(other.is_open());
}

TEST_CASE("of several keys that a client offers, only the right one lets it in") {
  const Ticket ticket = ticket_of_another_server();
  REQUIRE(::SSL_SESSION_is_resumable(ticket.get()) == 1);
  const Context context(::SSL_CTX_new(::TLS_client_method()));
  ::SSL_CTX_set_psk_use_session_callback(context.get(), use_key);
  offered = GENERATE('k', 'x');
  TlsSession ours = server();
  Other other(context.get(), true);
  REQUIRE(::SSL_set_session(other.ssl(), ticket.get()) == 1);
  run(ours, other);
  CHECK((ours.state() == State::open) == (offered == 'k'));
  CHECK(other.is_open() == (offered == 'k'));
}

namespace {

// Sends what the other end has to send, and returns the text that comes of it.
std::string text_of(TlsSession& ours, Other& other) {
  const std::string sealed = other.go_on();
  std::string text(4096, '\0');
  text.resize(ours.read(std::as_writable_bytes(std::span(text)), std::as_bytes(std::span(sealed))));
  return text;
}

// A client with the key, which does afterwards what sessions do not do.
struct Proved {
  Proved() {
    run(ours, other);
    REQUIRE(ours.state() == State::open);
    REQUIRE(other.is_open());
  }
  static Context with_the_key() {
    Context context(::SSL_CTX_new(::TLS_client_method()));
    offered = 'k';
    ::SSL_CTX_set_psk_use_session_callback(context.get(), use_key);
    return context;
  }

  Context context = with_the_key();
  TlsSession ours = server();
  Other other{context.get(), true};
};

// An alert as it is sent before there are keys: level, and number (0: the sender closes).
std::string alert(char level, char number) {
  return {'\x15', '\x03', '\x03', '\0', '\x02', level, number};
}

}  // namespace

TEST_CASE("a peer that has proved the key may change its own, and not that of this end") {
  Proved pair;
  SECTION("its own, after text") {
    for (int i = 0; i < 3; ++i) {
      REQUIRE(::SSL_key_update(pair.other.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
      pair.other.send("text");
      CHECK(text_of(pair.ours, pair.other) == "text");
    }
    CHECK(pair.ours.state() == State::open);
  }
  SECTION("its own, again and again") {
    for (int i = 0; i < 2; ++i) {
      REQUIRE(::SSL_key_update(pair.other.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
      CHECK(text_of(pair.ours, pair.other).empty());
      CHECK((pair.ours.state() == State::open) == (i == 0));
    }
    CHECK(pair.ours.why() == "it changes its key without need");
  }
  SECTION("that of this end") {
    REQUIRE(::SSL_key_update(pair.other.ssl(), SSL_KEY_UPDATE_REQUESTED) == 1);
    CHECK(text_of(pair.ours, pair.other).empty());
    CHECK(pair.ours.state() == State::failed);
    CHECK(pair.ours.why() == "it has asked for another key");
  }
}

TEST_CASE("a server's ticket ends the session of a client") {
  const Context context(::SSL_CTX_new(::TLS_server_method()));
  ::SSL_CTX_set_psk_find_session_callback(
      context.get(), [](SSL* ssl, const unsigned char*, std::size_t, SSL_SESSION** session) {
        const unsigned char* identity = nullptr;
        std::size_t size = 0;
        return use_key(ssl, nullptr, &identity, &size, session);
      });
  offered = 'k';
  ::SSL_CTX_set_num_tickets(context.get(), 0);
  TlsSession ours = TlsSession::client(kKey);
  Other other(context.get(), false);
  run(ours, other);
  REQUIRE(ours.state() == State::open);
  REQUIRE(::SSL_new_session_ticket(other.ssl()) == 1);
  CHECK(text_of(ours, other).empty());
  CHECK(ours.state() == State::failed);
  CHECK(ours.why() == "it has sent a ticket, which is not used");
}

TEST_CASE(
    "an end of the connection before the key is proved fails the session, which keeps no more") {
  const std::string closes = alert('\x01', '\0'), much(std::size_t{64} * 1024, 'x');
  const bool connects = GENERATE(false, true);
  TlsSession ours = connects ? TlsSession::client(kKey) : server();
  if (GENERATE(false, true) && !connects) {  // behind a hello that was recorded
    TlsSession earlier = TlsSession::client(kKey);
    const std::string hello = take_output(earlier);
    ours.receive(std::as_bytes(std::span(hello)));
    REQUIRE(ours.state() == State::handshake);
  }
  for (int i = 0; i < 64; ++i) {
    const std::string& next = i < 2 ? closes : much;
    ours.receive(std::as_bytes(std::span(next)));
  }
  CHECK(ours.state() == State::failed);
  CHECK(ours.rest().size() <= much.size());
}

}  // namespace tls_other_peers_test
