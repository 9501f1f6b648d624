// How two engines begin a connection: each proves to the other that it knows the job's key, before
// anything else is looked at.
//
//   who connects                     who accepts
//   hello: node, nonce ───────────▶
//              ◀─────────── hello and a proof
//   half and a proof ─────────────▶
//              ◀─────────── verdict, half and a proof
//
// A proof is HMAC-SHA256 over a word for the role, the job's name, and both hellos, which hold the
// versions, both nodes' numbers, what both wish and both nonces (random): so none serves twice, in
// the other role, or between other nodes. It covers as well what stands before it in its record.
// All records are of fixed size, and no more than the next one is ever read.
//
// If either end wishes so, what follows is encrypted (peer_seal.h). A half is then the public one
// of a key that is drawn for this connection (else zeros): so the secrets of what follows are
// nobody else's, not even of who learns the job's key later. No such key is made before the other
// has proved itself: a stranger's hello costs no more than an HMAC.
//
// Bytes in, bytes out: no socket, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hca/engine/peer_crypto.h"
#include "hca/engine/peer_seal.h"

namespace scela::hca {

// Who this engine is.
struct Identity {
  ~Identity() { wipe(key); }

  std::string job;
  std::string key;
  std::uint32_t node = 0;
  std::uint32_t nodes = 0;
  std::uint64_t instance = 0;  // drawn at random when the engine begins
  bool encrypts = false;       // it wishes so
};

// What one side says of itself. `attempt` counts its connections to the other node.
struct Hello {
  static constexpr std::size_t kBytes = 64;
  static constexpr std::size_t kNonce = 32;
  static constexpr std::uint32_t kEncrypt = 1;

  std::uint32_t version = 0;
  std::uint16_t from = 0;
  std::uint16_t to = 0;
  std::uint32_t wishes = 0;  // kEncrypt, or 0
  std::uint32_t attempt = 0;
  std::uint64_t instance = 0;
  std::string nonce;
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
    asked,  // who accepts: the other has proved itself, and waits for decide()
    over,   // there is a verdict
    failed,
  };

  // Of what a greeting is given: the nonce, then the secret half of the key.
  static constexpr std::size_t kDrawn = Hello::kNonce + kSecretBytes;

  // `drawn`: kDrawn bytes, fresh and random. Who connects says which of its attempts this is.
  static Greeting connecting(const Identity& identity, std::uint32_t to, std::uint32_t attempt,
                             std::string drawn);
  static Greeting accepting(const Identity& identity, std::string drawn);
  ~Greeting();
  Greeting(Greeting&&) = default;
  Greeting& operator=(Greeting&&) = default;

  // How many bytes to read next; 0: none.
  std::size_t wants() const { return state_ == State::going_on ? wanted_ - kept_.size() : 0; }
  // Whether anything of the other has come.
  bool has_heard() const { return !kept_.empty() || !other_hello_.empty(); }
  // Not more than that.
  void take(std::string_view bytes);
  // What is to be sent since the last call.
  std::string output() { return std::exchange(out_, {}); }
  // `attempts`: how many connections to the other node this one has begun.
  void decide(Verdict verdict, std::uint32_t attempts);

  State state() const { return state_; }
  const std::string& why() const { return why_; }  // it failed
  bool connects() const { return connects_; }
  const Hello& other() const { return other_; }  // proved, but while it goes on
  Verdict verdict() const { return verdict_; }
  std::uint32_t attempts() const { return attempts_; }  // of who accepted
  // Once it is over. Whether what follows is encrypted; and with what: nothing if the library
  // refuses.
  bool encrypts() const;
  std::optional<SealSecrets> secrets() const;

 private:
  enum class Next : std::uint8_t { hello, hello_and_proof, proof, verdict };

  Greeting(const Identity& identity, std::string drawn);
  void fail(std::string why);
  bool make_half();
  void send_hello();
  bool take_hello(std::string_view bytes);
  void take_verdict(std::string_view bytes);
  std::string said() const;
  std::string proof(std::string_view role, std::string_view more = {}) const;
  bool proves(std::string_view bytes, std::string_view role, std::string_view more = {}) const;

  const Identity* identity_;
  std::string secret_;
  bool connects_ = false;
  State state_ = State::going_on;
  Next next_ = Next::hello;
  std::size_t wanted_ = Hello::kBytes;
  Hello mine_;
  Hello other_;
  std::string my_hello_;
  std::string other_hello_;
  std::string my_half_;
  std::string other_half_;
  std::string kept_;
  std::string out_;
  std::string why_;
  Verdict verdict_ = Verdict::welcome;
  std::uint32_t attempts_ = 0;
};

}  // namespace scela::hca
