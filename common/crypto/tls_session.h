// One end of a TLS 1.3 connection under a pre-shared key (RFC 8446, section 2.2), without its
// socket: bytes of the connection in and out, text in and out. The links of agents
// (nla/link/tls.h) and the connections of adapter engines (hca/engine/peer_link.h) are made of it.
//
// Both ends must know the key before anything that either says is more than a handshake; the keys
// of the session come from a fresh Diffie-Hellman exchange (psk_dhe_ke), so whoever learns the
// pre-shared key later cannot read what was recorded before. The cipher is AES-128-GCM. There are
// no certificates, tickets, early data, session caches or older versions, and no configuration
// file of the machine is read.
//
// Not for threads: one thread at a time uses a session. Nothing blocks. OpenSSL stays inside the
// .cpp file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace scela {

struct SharedKey {
  std::string identity;  // names the key, and travels in the clear; at most 128 bytes
  std::string secret;    // 32 bytes
};

class TlsSession {
 public:
  enum class State : std::uint8_t {
    handshake,  // the other end has not proved yet that it knows the key
    open,       // it has
    closed,     // it has, and has said that it sends nothing more
    failed,     // it does not know the key, or its bytes are not what it sent; why() says more
  };
  // Returns the secret of the key that a client names; empty: no such key is known.
  using Lookup = std::function<std::string(std::string_view identity)>;

  // What one record holds at most.
  static constexpr std::size_t kRecord = std::size_t{16} * 1024;
  // A record on its way, at most (RFC 8446, section 5.2).
  static constexpr std::size_t kSealedRecord = kRecord + 256 + 5;

  // The end that speaks first; its first bytes are in output().
  static TlsSession client(SharedKey key);
  static TlsSession server(Lookup lookup);
  ~TlsSession();
  TlsSession(TlsSession&&) noexcept;
  TlsSession& operator=(TlsSession&&) noexcept;

  State state() const;
  const std::string& why() const;  // it failed

  // Takes bytes that have come from the other end, and goes on with the handshake.
  void receive(std::span<const std::byte> sealed);
  // Moves what the other end has said into `room`, as far as it has come; returns how many bytes.
  // Fewer than room.size(): there is no more for now. `sealed`: what has come since, which is
  // copied only where there is not enough room for what it says.
  std::size_t read(std::span<std::byte> room, std::span<const std::byte> sealed = {});
  // Says the pieces, one after the other: they are in output() then. Requires an open session, or
  // one that the other end has closed. Returns false if the library refuses: the session failed.
  bool write(std::span<const std::span<const std::byte>> pieces);
  // Says that nothing more is said.
  void close();

  // What is to be sent to the other end.
  std::span<const std::byte> output() const;
  void sent(std::size_t count);  // of output(), from its front

  // What has come behind the last record that was read: for two ends that go on without TLS.
  // Requires that read() has returned all that came before.
  std::span<const std::byte> rest() const;

  struct Parts;  // what the library is given; the .cpp file's

 private:
  explicit TlsSession(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace scela
