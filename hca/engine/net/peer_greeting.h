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
// The wish is whether frames are to be encrypted. If either end wishes so, the same session
// encrypts the frames that follow. If not, both ends go on with the bare connection. The attempt
// counts the connections that the first node has begun to the other, and `attempts` those of the
// second. The instance is a random number of each engine.
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

// The identity of this engine, which greetings use.
struct Identity {
  ~Identity() { wipe(key); }

  std::string job;  // name
  std::string key;  // its own (common/crypto/engine_keys.h)
  std::uint32_t node = 0;
  std::uint32_t nodes = 0;     // number of nodes of the job
  std::uint64_t instance = 0;  // random, drawn when the engine begins
  bool encrypts = false;       // it wishes encryption
};

// The statement of one side about itself: the version of its protocol, and its node number and the
// other's. `attempt` counts its connections to the other node.
struct Hello {
  std::uint32_t version = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool encrypts = false;
  std::uint32_t attempt = 0;
  std::uint64_t instance = 0;
};

// One side of a greeting. The caller moves the bytes: take(), output() and sent().
class Greeting {
 public:
  // The decision of the side that accepts.
  enum class Verdict : std::uint32_t {
    // The connection is established.
    welcome = 1,
    // The connection is dropped: one in the other direction comes.
    crossing = 2,
    // The connection is dropped: a newer one is established.
    stale = 3,
  };
  // The state of the greeting.
  enum class State : std::uint8_t {
    // Bytes are to be sent or must come.
    going_on,
    // The side that connects has proved itself. This side must call decide().
    asked,
    // There is a verdict.
    over,
    // The greeting cannot succeed any more; why() has the reason.
    failed,
  };

  // Makes the greeting of a connection that this engine begins, or of one that it has accepted.
  // `identity` must outlive the greeting. `key` is that of connections to node `to`. `attempt` is
  // the number of this engine's connection to that node.
  static Greeting connecting(const Identity& identity, std::uint32_t to, std::uint32_t attempt,
                             std::string key);
  static Greeting accepting(const Identity& identity);

  // Handles bytes that came from the other end, and changes state().
  void take(std::span<const std::byte> bytes);
  // Returns bytes that are to be sent. sent() removes the first `count` of them, once they were
  // sent.
  std::span<const std::byte> output() const { return session_.output(); }
  void sent(std::size_t count) { session_.sent(count); }
  // Answers the other end with the verdict if the state is `asked`; otherwise it does nothing.
  // `attempts` is the number of connections to the other node that this one has begun.
  void decide(Verdict verdict, std::uint32_t attempts);

  State state() const { return state_; }
  // Returns true if any byte of the other end has come.
  bool has_heard() const { return has_heard_; }
  // Returns why the greeting has failed, or an empty string.
  const std::string& why() const { return why_; }
  // Returns true for the side that connects.
  bool connects() const { return connects_; }
  // Returns what the other end says about itself. It is proved once the state is `asked` or `over`.
  const Hello& other() const { return *other_; }
  // Returns the verdict, once the state is `over`.
  Verdict verdict() const { return verdict_; }
  // Returns how many connections to this node the node that accepted has begun. For the side that
  // connects, once the state is `over`.
  std::uint32_t attempts() const { return attempts_; }
  // Valid once the state is `over`: returns whether the frames that follow are encrypted.
  bool encrypts() const { return identity_->encrypts || other_->encrypts; }
  // Moves the TLS session out, once the state is `over`. It may hold bytes that came behind the
  // greeting.
  TlsSession take_session() { return std::move(session_); }

 private:
  Greeting(const Identity& identity, std::shared_ptr<Hello> other, bool connects,
           TlsSession session);
  // Sets the state `failed` with this reason.
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
