// How two engines begin a connection: each proves to the other that it knows the job's key, before
// anything else is looked at.
//
//   who connects                     who accepts
//   hello: node, nonce ───────────▶
//              ◀─────────── hello and a proof
//   proof ────────────────────────▶
//              ◀─────────── verdict
//
// A proof is HMAC-SHA256 over a word for the role, the job's name, and both hellos, which hold the
// versions, both nodes' numbers and both nonces: so none serves twice, in the other role, or
// between other nodes. All records are of fixed size, and no more than the next one is ever read.
//
// Bytes in, bytes out: no socket, no clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace scela::hca {

// Who this engine is.
struct Identity {
  std::string job;
  std::string key;
  std::uint32_t node = 0;
  std::uint32_t nodes = 0;
  std::uint64_t instance = 0;  // drawn at random when the engine begins
};

// What one side says of itself. `attempt` counts its connections to the other node.
struct Hello {
  static constexpr std::size_t kBytes = 64;
  static constexpr std::size_t kNonce = 32;

  std::uint32_t version = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
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

  // `nonce`: fresh and random. Who connects says which of its attempts this is.
  static Greeting connecting(const Identity& identity, std::uint32_t to, std::uint32_t attempt,
                             std::string nonce);
  static Greeting accepting(const Identity& identity, std::string nonce);

  // How many bytes to read next; 0: none.
  std::size_t wants() const { return state_ == State::going_on ? wanted_ - kept_.size() : 0; }
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

 private:
  enum class Next : std::uint8_t { hello, hello_and_proof, proof, verdict };

  explicit Greeting(const Identity& identity) : identity_(&identity) {}
  void fail(std::string why);
  void send_hello();
  bool take_hello(std::string_view bytes);
  std::string proof(bool of_who_connects) const;
  bool proves(std::string_view bytes) const;

  const Identity* identity_;
  bool connects_ = false;
  State state_ = State::going_on;
  Next next_ = Next::hello;
  std::size_t wanted_ = Hello::kBytes;
  Hello mine_;
  Hello other_;
  std::string my_hello_;
  std::string other_hello_;
  std::string kept_;
  std::string out_;
  std::string why_;
  Verdict verdict_ = Verdict::welcome;
  std::uint32_t attempts_ = 0;
};

}  // namespace scela::hca
