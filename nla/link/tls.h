// Links over direct TCP: TLS 1.3 with a pre-shared key (decision D3, RFC 8446 section 2.2).
//
// Both ends must know the link's key (link_key.h) before a byte of either is taken for more than a
// handshake (common/crypto/tls_session.h).
//
// Event loop, one thread; never blocks. At most kMaxUnproven connections of peers that have proved
// nothing are held, each for a part of the time for the whole, with what the TLS library takes for
// a handshake (some 50 KiB). When one more comes, the oldest is closed: a parent proves the key at
// once, and whoever holds many connections only has them closed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/core/result.h"
#include "nla/address.h"
#include "nla/link/link_key.h"
#include "nla/transport.h"

namespace scela::nla {

// Fewer: strangers that connect all the time close the parent's connection before its handshake is
// over, which takes two round trips; more: memory for strangers.
inline constexpr int kMaxUnproven = 64;
// What part of the time for the whole one stranger has. A handshake takes two round trips. Larger:
// an overloaded parent stays on ssh; smaller: strangers that say nothing hold their places longer.
inline constexpr int kUnprovenShare = 4;

// `done` is called once, from the event loop, unless the object is destroyed before.
using TlsDone = std::function<void(tl::expected<std::unique_ptr<Transport>, std::string>)>;

class TlsAttempt {
 public:
  virtual ~TlsAttempt() = default;
  virtual std::uint16_t port() const = 0;
};

// The parent's end.
std::unique_ptr<TlsAttempt> connect_tls(boost::asio::io_context& io, const Address& address,
                                        std::uint16_t port, SharedKey key,
                                        std::chrono::milliseconds limit, TlsDone done);
// The child's: listens on the address at a port that the kernel chooses, takes the first that
// proves the key, and closes the port. Error (io): the system refuses.
Result<std::unique_ptr<TlsAttempt>> accept_tls(boost::asio::io_context& io, Address address,
                                               SharedKey key, std::chrono::milliseconds limit,
                                               TlsDone done);

}  // namespace scela::nla
