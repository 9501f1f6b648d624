// The beginning of a connection between two engines. They prove to each other that they know its
// key, and agree on whether the connection stays. PeerLink and Fabric use it.
//
//   the node that connects                     the node that accepts
//   TLS 1.3 under the connection's key (common/crypto/tls_session.h), which names both nodes
//   hello: wish, attempt, instance ────────▶
//                              ◀──────── answer: verdict, wish, attempts, instance
//
// Only these two nodes know the key (common/crypto/engine_keys.h). Its name is sent in the clear:
// "scela-hca VERSION JOB FROM TO". These are the version of the engines' protocol, a digest of the
// job's name, and the two nodes. Nothing else is looked at before both have proved the key.
//
// If either end wishes so, the same session encrypts the frames that follow. If not, both ends go
// on with the bare connection.
//
// A greeting takes and returns bytes, and has no socket and no clock. Only one thread at a time may
// call it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/crypto/hmac.h"
#include "common/crypto/tls_session.h"

namespace scela::hca {

// The identity of this engine.
struct Identity {
  ~Identity() { wipe(key); }

  std::string job;
  std::string key;  // its own (common/crypto/engine_keys.h)
  std::uint32_t node = 0;
  std::uint32_t nodes = 0;
  std::uint64_t instance = 0;  // random, drawn when the engine begins
  bool encrypts = false;       // it wishes encryption
};

// The statement of one side about itself. `attempt` counts its connections to the other node.
struct Hello {
  std::uint32_t version = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool encrypts = false;
  std::uint32_t attempt = 0;
  std::uint64_t instance = 0;
};

class Greeting {
 public:
  enum class Verdict : std::uint32_t {
    // The connection is established.
    welcome = 1,
    crossing = 2,  // wait: the other connection comes
    stale = 3,     // a newer one is established
  };
  enum class State : std::uint8_t {
    // Bytes are to be sent or must come.
    going_on,
    asked,  // accepting: waits for decide()
    over,   // there is a verdict
    // why() says why.
    failed,
  };

  // `identity` must outlive the greeting. `key` is that of connections to node `to`. `attempt` is
  // the number of this engine's connection to that node.
  static Greeting connecting(const Identity& identity, std::uint32_t to, std::uint32_t attempt,
                             std::string key);
  static Greeting accepting(const Identity& identity);

  // Takes bytes that came from the other end.
  void take(std::span<const std::byte> bytes);
  // Returns bytes that are to be sent.
  std::span<const std::byte> output() const { return session_.output(); }
  void sent(std::size_t count) { session_.sent(count); }  // of output()
  // Answers the other end if the state is asked; otherwise it does nothing. `attempts` is the
  // number of connections to the other node that this one has begun.
  void decide(Verdict verdict, std::uint32_t attempts);

  State state() const { return state_; }
  // Returns whether any byte of the other end has come.
  bool has_heard() const { return has_heard_; }
  const std::string& why() const { return why_; }  // why it failed
  bool connects() const { return connects_; }
  // Returns what the other end says about itself. It is proved once the state is asked or over.
  const Hello& other() const { return *other_; }
  Verdict verdict() const { return verdict_; }
  std::uint32_t attempts() const { return attempts_; }  // of the node that accepted
  // Valid once the state is over: whether what follows is encrypted, and the session that
  // continues.
  bool encrypts() const { return identity_->encrypts || other_->encrypts; }
  TlsSession take_session() { return std::move(session_); }

 private:
  Greeting(const Identity& identity, std::shared_ptr<Hello> other, bool connects,
           TlsSession session);
  void fail(std::string why);
  // Fails if the TLS session could not be made.
  void notice_failure();
  // Continues as far as the bytes that have come allow.
  void step();
  // Handles the other end's hello or answer, decrypted and whole.
  void heard(std::string_view record);
  // Encrypts a hello or an answer; it is then part of output().
  void say(std::string_view record);

  const Identity* identity_;
  std::shared_ptr<Hello> other_;          // shared with the session's lookup
  std::shared_ptr<std::string> refusal_;  // the lookup's reason to refuse a key
  bool connects_;
  TlsSession session_;
  State state_ = State::going_on;
  std::uint32_t attempt_ = 0;
  bool has_heard_ = false;
  bool has_said_ = false;
  bool was_open_ = false;  // the other end has proved the key
  std::string record_;     // as far as it has come
  std::string why_;
  Verdict verdict_ = Verdict::welcome;
  std::uint32_t attempts_ = 0;
};

}  // namespace scela::hca
