// One TCP connection to another node's engine: it moves bytes, encrypted if so agreed
// (peer_greeting.h), and cuts them into frames. Fabric uses it, in the engine's one thread.
//
// It never blocks. A frame is its length (4 bytes, little-endian), a FrameHeader
// (hca/core/wire/engine_frame.h) and a payload. A connection begins with a greeting, in which both
// ends prove that they know its key; after that it is established.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/core/result.h"
#include "common/crypto/tls_session.h"
#include "common/os/fd.h"
#include "hca/core/wire/engine_frame.h"
#include "hca/engine/net/endpoint.h"
#include "hca/engine/net/peer_greeting.h"

namespace scela::hca {

// The bytes of a frame's length, and the greatest length, which does not count these bytes.
inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::size_t kLongestFrame = sizeof(FrameHeader) + kMaxPayload;

// Bytes that wait to be sent, oldest first.
class Outbox {
 public:
  std::size_t size() const { return bytes_.size() - taken_; }
  bool empty() const { return size() == 0; }
  // Returns the bytes that wait; valid until the next change.
  std::span<const std::byte> waiting() const { return std::span(bytes_).subspan(taken_); }
  // Appends a copy of the bytes.
  void add(std::span<const std::byte> bytes);
  // Removes the first `count` bytes, which were sent.
  void sent(std::size_t count);
  void clear();

 private:
  std::vector<std::byte> bytes_;
  std::size_t taken_ = 0;
};

// The bytes of a frame before its payload, in one piece: its length and its header.
struct FrameHead {
  // `payload` is the number of bytes of the payload.
  FrameHead(std::span<const std::byte> header, std::size_t payload);
  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::byte bytes_[kLengthBytes + sizeof(FrameHeader)];
  std::size_t size_;
};

// Cuts incoming bytes into frames and calls take(frame) for each, without its length. take()
// returns false if the frame is invalid. Returns false then, or if a length is out of range. If it
// returns true, `bytes` is the incomplete frame at the end, perhaps empty.
template <class Take>
bool cut_frames(std::span<const std::byte>& bytes, Take&& take) {
  while (bytes.size() >= kLengthBytes) {
    std::uint32_t length = 0;
    for (std::size_t i = kLengthBytes; i > 0; --i)
      length = length << 8 | std::to_integer<std::uint32_t>(bytes[i - 1]);
    if (length < sizeof(FrameHeader) || length > kLongestFrame) return false;
    if (bytes.size() - kLengthBytes < length) return true;
    if (!take(bytes.subspan(kLengthBytes, length))) return false;
    bytes = bytes.subspan(kLengthBytes + length);
  }
  return true;
}

// The socket, the greeting, and then the TLS session if the connection is encrypted.
class PeerLink {
 public:
  // Begins to connect, and to greet once TCP has connected. Returns an error if it cannot even be
  // tried. accepted() makes the object of a connection that a Listener has accepted.
  static Result<PeerLink> connect(const Endpoint& to, Greeting greeting);
  static PeerLink accepted(Fd socket, Greeting greeting);

  int descriptor() const { return socket_.get(); }
  // Returns the greeting, or an empty object once the connection is established.
  std::optional<Greeting>& greeting() { return greeting_; }
  // Establishes the connection to `node` after a greeting that is over. read() must follow, since
  // it returns what has come behind the greeting already.
  void establish(std::uint32_t node);
  // Returns true if the connection is established.
  bool is_established() const { return !greeting_; }
  // Returns true if the established connection is encrypted.
  bool encrypts() const { return session_.has_value(); }
  // Returns the number of the node at the other end, once the connection is established.
  std::uint32_t node() const { return node_; }

  // Continues the greeting, as far as the socket allows now. Returns false if it has failed: its
  // why(), or else failure(), says why.
  bool greet();
  // Sends what it can: first the outbox, then `head` and `payload`. Appends the rest of these two
  // to the outbox. Returns false if the connection has ended.
  bool send(Outbox& outbox, std::span<const std::byte> head, std::span<const std::byte> payload);
  // Returns true if all that was given to send() has left, and nothing waits in the outbox.
  bool has_sent_all(const Outbox& outbox) const {
    return outbox.empty() && (!session_ || session_->output().empty());
  }
  // Reads once, into `room` behind what was left the last time (keep()). `bytes` are then all bytes
  // that are not cut into frames yet, or empty if nothing came. Returns false if the connection has
  // ended, or if the bytes are not those that were sent (failure() is EBADMSG). `room` takes
  // kReadAtOnce bytes beside an incomplete frame, and is twice as long if the connection is
  // encrypted (Fabric::read).
  bool read(std::span<std::byte> room, std::span<const std::byte>& bytes);
  // Returns true if an encrypted connection has ended: read() must be called once more, although no
  // event of the socket may come.
  bool has_ended() const { return session_ && session_->state() != TlsSession::State::open; }
  // Keeps the bytes that are no whole frame yet for the next read().
  void keep(std::span<const std::byte> rest) { rest_.assign(rest.begin(), rest.end()); }

  // Returns true as long as TCP has not connected.
  bool connecting() const { return connecting_; }
  // Returns why the connection has ended, as an errno. It is 0 if the other end closed the
  // connection as planned. It is ECONNABORTED if an encrypted connection was closed without a
  // farewell.
  int failure() const { return failure_; }
  // Returns the other end's address as text, for reports.
  const std::string& name() const { return name_; }
  // A note for PeerLinks::watch(): whether the poller waits until the socket can be written to.
  bool waits_to_write() const { return waits_to_write_; }
  void waits_to_write(bool waits) { waits_to_write_ = waits; }
  // Tells the other end that nothing more is sent. If the connection is encrypted, it must be
  // called again until its last bytes have left (has_sent_all()).
  void shut();

 private:
  PeerLink(Fd socket, Greeting greeting);
  // Checks whether TCP has connected, and then clears `connecting_`. Returns false if it has
  // failed, and true if it has connected or still connects.
  bool connected();
  // Send the first bytes of the pieces. They return how many were sent, 0 if the socket takes
  // nothing now, or std::nullopt if the connection has ended. encrypt() also counts bytes that are
  // encrypted and wait in the session.
  std::optional<std::size_t> write(std::span<const std::span<const std::byte>> pieces);
  std::optional<std::size_t> encrypt(std::span<const std::span<const std::byte>> pieces);
  // Sends what is encrypted, as far as the socket takes it. Returns false if the connection has
  // ended.
  bool send_encrypted();
  // Reads the socket into `room`. Returns the number of bytes, 0 if nothing came, or std::nullopt
  // if the connection has ended.
  std::optional<std::size_t> take(std::span<std::byte> room);
  // Does so for an encrypted connection: returns the number of decrypted bytes. It reads the socket
  // only if `looks` is true.
  std::optional<std::size_t> decrypt(std::span<std::byte> room, bool looks);

  Fd socket_;
  std::optional<Greeting> greeting_;
  std::optional<TlsSession> session_;  // if it is encrypted
  bool is_new_ = false;                // established, and not read since
  bool says_farewell_ = false;         // in TLS; nothing is sent after it
  std::uint32_t node_ = 0;
  bool connecting_ = false;
  bool waits_to_write_ = false;
  int failure_ = 0;
  std::vector<std::byte> rest_;  // bytes of keep()
  std::string name_;
};

}  // namespace scela::hca
