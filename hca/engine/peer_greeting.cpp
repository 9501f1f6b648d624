#include "hca/engine/peer_greeting.h"

#include <algorithm>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "hca/core/wire.h"
#include "hca/engine/peer_crypto.h"

namespace scela::hca {

namespace {

constexpr std::string_view kMagic = "scelahca";
constexpr std::size_t kVerdict = 8;
constexpr std::size_t kHalf = kSecretBytes;
// Roles, as proofs name them.
constexpr std::string_view kConnects = "scela-hca connects";
constexpr std::string_view kAccepts = "scela-hca accepts";
constexpr std::string_view kDecides = "scela-hca decides";

std::string written(const Hello& hello) {
  ByteWriter out;
  out.raw(kMagic);
  out.u32(hello.version);
  out.u16(hello.from);
  out.u16(hello.to);
  out.u32(hello.wishes);
  out.u32(hello.attempt);
  out.u64(hello.instance);
  out.raw(hello.nonce);
  return out.take();
}

}  // namespace

Greeting::Greeting(const Identity& identity, std::string drawn)
    : identity_(&identity), secret_(drawn, std::min(drawn.size(), Hello::kNonce)) {
  mine_.nonce = drawn.substr(0, Hello::kNonce);
  wipe(drawn);
  mine_.version = kWireVersion;
  mine_.from = static_cast<std::uint16_t>(identity.node);
  mine_.wishes = identity.encrypts ? Hello::kEncrypt : 0;
  mine_.instance = identity.instance;
}

Greeting::~Greeting() {
  wipe(secret_);
}

Greeting Greeting::connecting(const Identity& identity, std::uint32_t to, std::uint32_t attempt,
                              std::string drawn) {
  Greeting made(identity, std::move(drawn));
  made.connects_ = true;
  made.mine_.to = static_cast<std::uint16_t>(to);
  made.mine_.attempt = attempt;
  made.next_ = Next::hello_and_proof;
  made.wanted_ = Hello::kBytes + kProofBytes;
  made.send_hello();
  return made;
}

Greeting Greeting::accepting(const Identity& identity, std::string drawn) {
  return {identity, std::move(drawn)};
}

void Greeting::send_hello() {
  my_hello_ = written(mine_);
  out_ += my_hello_;
}

// What this side shows of its key: only to who has proved itself.
bool Greeting::make_half() {
  my_half_ = encrypts() ? public_part(secret_) : std::string(kHalf, '\0');
  if (my_half_.size() != kHalf) fail("there is no cryptography to be had");
  return my_half_.size() == kHalf;
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
  other_.from = in.u16();
  other_.to = in.u16();
  other_.wishes = in.u32();
  other_.attempt = in.u32();
  other_.instance = in.u64();
  other_.nonce = in.raw(Hello::kNonce);
  if (other_.version != kWireVersion) {
    fail(cat("it speaks version ", other_.version, ", this engine ", kWireVersion));
  } else if (other_.to != identity_->node || other_.from == identity_->node ||
             other_.from >= identity_->nodes || (connects_ && other_.from != mine_.to)) {
    fail("it is another node than it should be, or of another job");
  } else if ((other_.wishes & ~Hello::kEncrypt) != 0) {
    fail("it wishes what this engine does not know");
  }
  return state_ != State::failed;
}

// What both have said, the same on both sides.
std::string Greeting::said() const {
  ByteWriter out;
  out.text(identity_->job);
  out.raw(connects_ ? my_hello_ : other_hello_);
  out.raw(connects_ ? other_hello_ : my_hello_);
  return out.take();
}

std::string Greeting::proof(std::string_view role, std::string_view more) const {
  ByteWriter text;
  text.text(role);
  text.raw(said());
  text.raw(more);
  return authenticate(identity_->key, text.bytes());
}

bool Greeting::proves(std::string_view bytes, std::string_view role, std::string_view more) const {
  const std::string expected = proof(role, more);
  return expected.size() == kProofBytes && is_equal(expected, bytes);
}

bool Greeting::encrypts() const {
  return ((mine_.wishes | other_.wishes) & Hello::kEncrypt) != 0;
}

std::optional<SealSecrets> Greeting::secrets() const {
  if (state_ != State::over) return std::nullopt;
  std::string common = common_part(secret_, other_half_);
  std::string key;
  key.reserve(common.size() + identity_->key.size());  // what grows leaves copies behind
  key += common;
  key += identity_->key;
  const bool is_common = !common.empty();
  wipe(common);
  const std::string salt =
      digest(cat(said(), connects_ ? my_half_ : other_half_, connects_ ? other_half_ : my_half_));
  std::string made[] = {derive(key, salt, kConnects, kSecretBytes),
                        derive(key, salt, kAccepts, kSecretBytes)};
  wipe(key);
  if (is_common && !salt.empty() && !made[0].empty() && !made[1].empty())
    return SealSecrets{std::move(made[connects_ ? 0 : 1]), std::move(made[connects_ ? 1 : 0])};
  for (std::string& secret : made)
    wipe(secret);
  return std::nullopt;
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
      out_ += proof(kAccepts);
      next_ = Next::proof;
      wanted_ = kHalf + kProofBytes;
      return;
    case Next::hello_and_proof:
      if (!take_hello(all.substr(0, Hello::kBytes))) return;
      if (!proves(all.substr(Hello::kBytes), kAccepts)) {
        return fail("it does not know the job's key");
      }
      if (!make_half()) return;
      out_ += my_half_;
      out_ += proof(kConnects, my_half_);
      next_ = Next::verdict;
      wanted_ = kVerdict + kHalf + kProofBytes;
      return;
    case Next::proof:
      other_half_ = all.substr(0, kHalf);
      if (!proves(all.substr(kHalf), kConnects, other_half_)) {
        return fail("it does not know the job's key");
      }
      state_ = State::asked;
      return;
    case Next::verdict:
      return take_verdict(all);
  }
}

void Greeting::take_verdict(std::string_view bytes) {
  const std::string_view said = bytes.substr(0, kVerdict + kHalf);
  if (!proves(bytes.substr(said.size()), kDecides, said)) {
    return fail("its verdict is not its own");
  }
  ByteReader in(said);
  const std::uint32_t verdict = in.u32();
  attempts_ = in.u32();
  if (verdict < 1 || verdict > 3) return fail("it says what is no verdict");
  verdict_ = static_cast<Verdict>(verdict);
  other_half_ = said.substr(kVerdict);
  state_ = State::over;
}

void Greeting::decide(Verdict verdict, std::uint32_t attempts) {
  if (state_ != State::asked || !make_half()) return;
  ByteWriter out;
  out.u32(static_cast<std::uint32_t>(verdict));
  out.u32(attempts);
  out.raw(my_half_);
  out_ += out.bytes();
  out_ += proof(kDecides, out.bytes());
  verdict_ = verdict;
  state_ = State::over;
}

}  // namespace scela::hca
