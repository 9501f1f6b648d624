// Links over direct TCP: TLS 1.3 with a pre-shared key (decision D3, RFC 8446 section 2.2). A link
// is the connection between an agent and its parent. The shell uses this part, on its loop, to
// change links to TCP.
//
// Both ends must prove the link's key (link_key.h) before any byte of either is taken for more than
// a handshake (common/crypto/tls_session.h).
//
// Event loop, one thread; never blocks. At most kMaxUnproven connections of unproven peers are
// held. Each has a part of the time limit for the whole, and costs what the TLS library takes for a
// handshake (some 50 KiB). If one more comes, the oldest is closed. A parent proves the key at
// once, so an attacker with many connections only has its own closed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/os/fd.h"
#include "nla/io/address.h"
#include "nla/io/transport.h"
#include "nla/link/link_key.h"

namespace scela::nla {

// Fewer: strangers that connect all the time close the parent's connection before its handshake is
// over, which takes two round trips; more: memory for strangers.
inline constexpr int kMaxUnproven = 64;
// The time limit for one stranger is the limit for the whole, divided by this. A handshake takes
// two round trips. Larger: an overloaded parent stays on ssh; smaller: strangers that say nothing
// hold their places longer.
inline constexpr int kUnprovenShare = 4;

// The result of an attempt: the transport over the proven connection, or the reason of the failure.
// `done` is called once, from the event loop, unless the object is destroyed before.
using TlsDone = std::function<void(tl::expected<std::unique_ptr<Transport>, std::string>)>;

// One end of a connection that is being made. Its destruction ends the attempt.
class TlsAttempt {
 public:
  virtual ~TlsAttempt() = default;
};

// Begins the parent's end: connects to the address and proves the key. `limit` is for all of it.
std::unique_ptr<TlsAttempt> connect_tls(boost::asio::io_context& io, const Address& address,
                                        std::uint16_t port, SharedKey key,
                                        std::chrono::milliseconds limit, TlsDone done);
// Begins the child's end. `listening` is a socket of listen_at(). Takes the first connection that
// proves the key, and closes `listening`.
std::unique_ptr<TlsAttempt> accept_tls(boost::asio::io_context& io, Fd listening, SharedKey key,
                                       std::chrono::milliseconds limit, TlsDone done);

}  // namespace scela::nla
