#include "hca/engine/peer_greeting.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "hca/core/wire.h"

namespace scela::hca {

namespace {

constexpr std::string_view kMagic = "scelahca";
constexpr std::size_t kProof = 32;
constexpr std::size_t kVerdict = 8;

std::string written(const Hello& hello) {
  ByteWriter out;
  out.raw(kMagic);
  out.u32(hello.version);
  out.u32(hello.from);
  out.u32(hello.to);
  out.u32(hello.attempt);
  out.u64(hello.instance);
  out.raw(hello.nonce);
  return out.take();
}

}  // namespace

Greeting Greeting::connecting(const Identity& identity, std::uint32_t to, std::uint32_t attempt,
                              std::string nonce) {
  Greeting made(identity);
  made.connects_ = true;
  made.mine_ = {kWireVersion, identity.node, to, attempt, identity.instance, std::move(nonce)};
  made.next_ = Next::hello_and_proof;
  made.wanted_ = Hello::kBytes + kProof;
  made.send_hello();
  return made;
}

Greeting Greeting::accepting(const Identity& identity, std::string nonce) {
  Greeting made(identity);
  made.mine_ = {kWireVersion, identity.node, 0, 0, identity.instance, std::move(nonce)};
  return made;
}

void Greeting::send_hello() {
  my_hello_ = written(mine_);
  out_ += my_hello_;
}

void Greeting::fail(std::string why) {
  state_ = State::failed;
  why_ = std::move(why);
}

bool Greeting::take_hello(std::string_view bytes) {
  other_hello_ = bytes;
  ByteReader in(bytes);
  if (in.raw(kMagic.size()) != kMagic) {
    fail("it is no engine");
    return false;
  }
  other_.version = in.u32();
  other_.from = in.u32();
  other_.to = in.u32();
  other_.attempt = in.u32();
  other_.instance = in.u64();
  other_.nonce = in.raw(Hello::kNonce);
  if (other_.version != kWireVersion) {
    fail(cat("it speaks version ", other_.version, ", this engine ", kWireVersion));
  } else if (other_.to != identity_->node || other_.from == identity_->node ||
             other_.from >= identity_->nodes || (connects_ && other_.from != mine_.to)) {
    fail("it is another node than it should be, or of another job");
  }
  return state_ != State::failed;
}

std::string Greeting::proof(bool of_who_connects) const {
  ByteWriter said;
  said.text(of_who_connects ? "scela-hca connects" : "scela-hca accepts");
  said.text(identity_->job);
  said.raw(connects_ ? my_hello_ : other_hello_);
  said.raw(connects_ ? other_hello_ : my_hello_);
  const std::string text = said.take();
  std::string out(kProof, '\0');
  unsigned int size = 0;
  const auto* const made =
      ::HMAC(::EVP_sha256(), identity_->key.data(), static_cast<int>(identity_->key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(),
             reinterpret_cast<unsigned char*>(out.data()), &size);
  return made != nullptr && size == kProof ? out : std::string();
}

bool Greeting::proves(std::string_view bytes) const {
  const std::string expected = proof(!connects_);
  return expected.size() == kProof && bytes.size() == kProof &&
         ::CRYPTO_memcmp(expected.data(), bytes.data(), kProof) == 0;
}

void Greeting::take(std::string_view bytes) {
  if (state_ != State::going_on) return;
  kept_ += bytes.substr(0, wants());
  if (kept_.size() < wanted_) return;
  const std::string record = std::exchange(kept_, {});
  const std::string_view all = record;
  switch (next_) {
    case Next::hello:
      if (!take_hello(all)) return;
      mine_.to = other_.from;
      send_hello();
      out_ += proof(false);
      next_ = Next::proof;
      wanted_ = kProof;
      return;
    case Next::hello_and_proof:
      if (!take_hello(all.substr(0, Hello::kBytes))) return;
      if (!proves(all.substr(Hello::kBytes))) return fail("it does not know the job's key");
      out_ += proof(true);
      next_ = Next::verdict;
      wanted_ = kVerdict;
      return;
    case Next::proof:
      if (!proves(all)) return fail("it does not know the job's key");
      state_ = State::asked;
      return;
    case Next::verdict: {
      ByteReader in(all);
      const std::uint32_t verdict = in.u32();
      attempts_ = in.u32();
      if (verdict < 1 || verdict > 3) return fail("it says what is no verdict");
      verdict_ = static_cast<Verdict>(verdict);
      state_ = State::over;
      return;
    }
  }
}

void Greeting::decide(Verdict verdict, std::uint32_t attempts) {
  if (state_ != State::asked) return;
  ByteWriter out;
  out.u32(static_cast<std::uint32_t>(verdict));
  out.u32(attempts);
  out_ += out.bytes();
  verdict_ = verdict;
  state_ = State::over;
}

}  // namespace scela::hca
