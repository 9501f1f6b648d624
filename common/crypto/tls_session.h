// One end of a TLS 1.3 connection under a pre-shared key (RFC 8446, section 2.2), without its
// socket. The caller moves the bytes of the connection, and reads and writes text. The links of
// agents (nla/link/tls.h) and the connections of adapter engines (hca/engine/net/peer_link.h) are
// built on it.
//
// "Text" is what the two programs send each other. "Sealed" bytes are what travels on the
// connection: TLS records.
//
// Both ends must know the key before either sends more than a handshake. The keys of the session
// come from a fresh Diffie-Hellman exchange (psk_dhe_ke). So an attacker that learns the pre-shared
// key later cannot read what was recorded before. The cipher is AES-128-GCM. There are no
// certificates, tickets, early data, session caches or older versions. The library reads no
// configuration file of the machine.
//
// One thread at a time uses a session. Its calls do not block. OpenSSL stays inside the .cpp file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/crypto/hmac.h"

namespace scela {

// A pre-shared key with its name.
struct SharedKey {
  SharedKey() = default;
  // Takes the identity and the secret.
  SharedKey(std::string name, std::string bytes)
      : identity(std::move(name)), secret(std::move(bytes)) {}
  SharedKey(const SharedKey&) = default;
  SharedKey(SharedKey&&) noexcept = default;
  SharedKey& operator=(SharedKey other) noexcept {
    identity.swap(other.identity);
    secret.swap(other.secret);  // `other` wipes the secret that was here
    return *this;
  }
  ~SharedKey() { wipe(secret); }
  // Names the key, and travels in the clear; at most 128 bytes.
  std::string identity;
  std::string secret;  // 32 bytes; wiped with the object
};

// One end of a connection.
class TlsSession {
 public:
  // The state of a session. It only moves forward in this order, and a session in any state may
  // fail.
  enum class State : std::uint8_t {
    // The other end has not proved yet that it knows the key.
    handshake,
    open,  // the other end has proved the key
    // The other end has proved the key, and has said that it sends nothing more.
    closed,
    // The other end does not know the key, or its bytes were changed on the way; why() says more.
    failed,
  };
  // Returns the secret of the key that a client names, or an empty string if no such key is known.
  using Lookup = std::function<std::string(std::string_view identity)>;

  // The most bytes of text in one record.
  static constexpr std::size_t kRecord = std::size_t{16} * 1024;
  // The most bytes of a record on the wire (RFC 8446, section 5.2).
  static constexpr std::size_t kSealedRecord = kRecord + 256 + 5;
  // The records that one end writes before both go on to the next key. AES-GCM is good for 2^24.5
  // of them (RFC 8446, section 5.5).
  static constexpr std::uint64_t kRecordsPerKey = std::uint64_t{1} << 22;

  // Each makes what all sessions of that end share in a process, if there is none yet. The library
  // takes 2 ms for the first. A caller that has to wait for the other end calls one before, so that
  // the handshake does not wait for it.
  static void prepare_client();
  static void prepare_server();

  // Makes the end that sends first. Its first bytes are in output(). `records_per_key` is
  // kRecordsPerKey except in tests.
  static TlsSession client(SharedKey key, std::uint64_t records_per_key = kRecordsPerKey);
  // Makes the end that waits for the first bytes. `lookup` is called during the handshake, from
  // within receive().
  static TlsSession server(Lookup lookup, std::uint64_t records_per_key = kRecordsPerKey);
  ~TlsSession();
  TlsSession(TlsSession&&) noexcept;
  TlsSession& operator=(TlsSession&&) noexcept;

  // Returns the state, which receive(), read() and write() may change.
  State state() const;
  const std::string& why() const;  // the reason of a failed session

  // Takes sealed bytes that have arrived from the other end, and continues the handshake. The
  // caller then sends output(), and checks state(). A session fails if its handshake brings more
  // than 192 KiB.
  void receive(std::span<const std::byte> sealed);
  // Moves text of the other end into `room`, as far as it has arrived, and returns how many bytes.
  // If there are fewer than room.size(), there is no more text for now. `sealed` are bytes that
  // have arrived since receive(). They are copied only if `room` is too small for their text.
  //
  // A session fails if the other end sends a ticket, asks for another key, or changes its own key
  // twice without text in between: this class does none of that, and it would cost time without
  // end.
  std::size_t read(std::span<std::byte> room, std::span<const std::byte> sealed = {});
  // Seals the pieces of text, one after the other; the records are added to output(). Requires an
  // open session, or one that the other end has closed. Returns false if the library refuses: the
  // session has failed.
  bool write(std::span<const std::span<const std::byte>> pieces);
  // Adds a message to output() which says that this end sends nothing more. It does nothing unless
  // the session is open or closed by the other end.
  void close();

  // Returns the sealed bytes that the caller must send to the other end. They are valid until the
  // next call of another function.
  std::span<const std::byte> output() const;
  // Removes `count` bytes from the front of output(), after the caller has sent them.
  void sent(std::size_t count);

  // Returns the bytes behind the last record that was read, for two ends that go on without TLS.
  // Requires that read() has returned all text before them.
  std::span<const std::byte> rest() const;

  struct Parts;  // the library's objects; .cpp file only

 private:
  explicit TlsSession(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace scela
