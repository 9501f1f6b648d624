// How two engines begin a connection: they prove to each other that they know its key, and agree
// on whether the connection stays.
//
//   the node that connects                     the node that accepts
//   TLS 1.3 under the connection's key (common/crypto/tls_session.h), which names both nodes
//   hello: wish, attempt, instance ────────▶
//                              ◀──────── answer: verdict, wish, attempts, instance
//
// The key is known to these two nodes only (common/crypto/engine_keys.h). Its name, which travels
// in the clear, is "scela-hca VERSION JOB FROM TO": the version of what engines say, a digest of
// the job's name, and the two nodes. Nothing else is looked at before both have proved the key.
//
// If either end wishes so, the frames that follow are encrypted by the same session. If not, both
// ends go on with the bare connection.
//
// Bytes in, bytes out: no socket, no clock. Not for threads.
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

// Which engine this is.
struct Identity {
  ~Identity() { wipe(key); }

  std::string job;
  std::string key;  // this engine's own (common/crypto/engine_keys.h)
  std::uint32_t node = 0;
  std::uint32_t nodes = 0;
  std::uint64_t instance = 0;  // drawn at random when the engine begins
  bool encrypts = false;       // it wishes so
};

// What one side says of itself. `attempt` counts its connections to the other node.
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
    welcome = 1,
    crossing = 2,  // wait: a connection the other way is about to stand
    stale = 3,     // a newer one stands
  };
  enum class State : std::uint8_t {
    going_on,
    asked,  // at the node that accepts: the other has proved itself, and waits for decide()
    over,   // there is a verdict
    failed,
  };

  // `identity` outlives the greeting. `key` is that of connections to node `to`; `attempt`: which
  // one of this engine's connections to it this is.
  static Greeting connecting(const Identity& identity, std::uint32_t to, std::uint32_t attempt,
                             std::string key);
  static Greeting accepting(const Identity& identity);

  // Takes what has come from the other end.
  void take(std::span<const std::byte> bytes);
  // What is to be sent.
  std::span<const std::byte> output() const { return session_.output(); }
  void sent(std::size_t count) { session_.sent(count); }  // of output()
  // `attempts`: how many connections to the other node this one has begun.
  void decide(Verdict verdict, std::uint32_t attempts);

  State state() const { return state_; }
  // Whether anything of the other has come.
  bool has_heard() const { return has_heard_; }
  const std::string& why() const { return why_; }  // it failed
  bool connects() const { return connects_; }
  // What the other end says of itself; proved once the state is asked or over.
  const Hello& other() const { return *other_; }
  Verdict verdict() const { return verdict_; }
  std::uint32_t attempts() const { return attempts_; }  // of the node that accepted
  // Once it is over: whether what follows is encrypted, and the session that it goes on with.
  bool encrypts() const { return identity_->encrypts || other_->encrypts; }
  TlsSession take_session() { return std::move(session_); }

 private:
  Greeting(const Identity& identity, std::shared_ptr<Hello> other, bool connects,
           TlsSession session);
  void fail(std::string why);
  void notice_failure();
  void step();
  void heard(std::string_view record);
  void say(std::string_view record);

  const Identity* identity_;
  std::shared_ptr<Hello> other_;          // the session's lookup has it as well
  std::shared_ptr<std::string> refusal_;  // what the lookup says of a stranger
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
