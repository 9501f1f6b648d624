#include "hca/engine/net/peer_greeting.h"

#include <charconv>

#include "common/core/bytes.h"
#include "common/core/hex.h"
#include "common/core/text.h"
#include "common/crypto/engine_keys.h"
#include "hca/core/wire/engine_frame.h"

namespace scela::hca {

namespace {

constexpr std::string_view kEngine = "scela-hca";
constexpr std::uint32_t kEncrypt = 1;  // a bit of the wishes
constexpr std::size_t kHelloBytes = 4 + 4 + 8;
constexpr std::size_t kAnswerBytes = 4 + 4 + 4 + 8;

// Returns 16 digits for a job's name, which may be longer than a key's name may be.
std::string short_name(std::string_view job) {
  return hex_digits(hmac_sha256(kEngine, job).substr(0, 8));
}

std::string key_name(std::string_view job, std::uint32_t from, std::uint32_t to) {
  return cat(kEngine, " ", kWireVersion, " ", short_name(job), " ", from, " ", to);
}

// Removes the last word of a key's name and returns it as a number, or nothing if it is none.
std::optional<std::uint32_t> take_number(std::string_view& name) {
  const std::size_t space = name.rfind(' ');
  if (space == name.npos) return std::nullopt;
  std::uint32_t number = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + space + 1, end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  name = name.substr(0, space);
  return number;
}

// Reads what a key's name says about the engine that connects. Returns an empty string if the name
// is one for this engine, otherwise the reason why not.
std::string read_name(std::string_view whole, const Identity& mine, Hello& other) {
  std::string_view name = whole;
  const auto to = take_number(name), from = take_number(name);
  name = name.substr(0, name.rfind(' '));  // without the job
  const auto version = take_number(name);
  if (!to || !from || !version || name != kEngine) return "it is no engine";
  other.from = *from;
  other.to = *to;
  other.version = *version;
  if (other.version != kWireVersion)
    return cat("it speaks version ", other.version, ", this engine ", kWireVersion);
  if (whole != key_name(mine.job, other.from, mine.node) || other.from == mine.node ||
      other.from >= mine.nodes) {
    return "it is another node than it should be, or of another job";
  }
  return {};
}

}  // namespace

Greeting::Greeting(const Identity& identity, std::shared_ptr<Hello> other, bool connects,
                   TlsSession session)
    : identity_(&identity),
      other_(std::move(other)),
      connects_(connects),
      session_(std::move(session)) {}

Greeting Greeting::connecting(const Identity& identity, std::uint32_t to, std::uint32_t attempt,
                              std::string key) {
  auto other = std::make_shared<Hello>();
  other->version = kWireVersion;
  other->from = to;
  other->to = identity.node;
  Greeting made(identity, std::move(other), true,
                TlsSession::client({key_name(identity.job, identity.node, to), std::move(key)}));
  made.attempt_ = attempt;
  made.notice_failure();
  return made;
}

Greeting Greeting::accepting(const Identity& identity) {
  auto other = std::make_shared<Hello>();
  auto why = std::make_shared<std::string>("it is no engine");
  Greeting made(identity, other, false,
                TlsSession::server([&identity, other, why](std::string_view name) {
                  *why = read_name(name, identity, *other);
                  if (!why->empty()) return std::string();
                  *why = "it does not know the connection's key";
                  return connection_key(identity.key, other->from);
                }));
  made.refusal_ = std::move(why);
  made.notice_failure();
  return made;
}

// The TLS library may have no session to offer.
void Greeting::notice_failure() {
  if (session_.state() == TlsSession::State::failed) fail(cat("no TLS here: ", session_.why()));
}

void Greeting::fail(std::string why) {
  state_ = State::failed;
  why_ = std::move(why);
}

void Greeting::take(std::span<const std::byte> bytes) {
  if (state_ != State::going_on) return;
  has_heard_ = has_heard_ || !bytes.empty();
  session_.receive(bytes);
  step();
}

void Greeting::step() {
  if (session_.state() == TlsSession::State::handshake) return;
  was_open_ = was_open_ || session_.state() != TlsSession::State::failed;
  if (session_.state() == TlsSession::State::open && connects_ && !has_said_) {
    ByteWriter out;
    out.u32(identity_->encrypts ? kEncrypt : 0);
    out.u32(attempt_);
    out.u64(identity_->instance);
    say(out.bytes());
  }
  const std::size_t wanted = connects_ ? kAnswerBytes : kHelloBytes;
  const std::size_t have = record_.size();
  record_.resize(wanted);
  record_.resize(have + session_.read(std::as_writable_bytes(std::span(record_)).subspan(have)));
  if (record_.size() == wanted) return heard(record_);
  if (session_.state() == TlsSession::State::failed) {
    return fail(was_open_   ? cat("its greeting was changed on its way: ", session_.why())
                : connects_ ? cat("it does not take the connection's key: ", session_.why())
                            : *refusal_);
  }
  if (session_.state() == TlsSession::State::closed) fail("it hung up");
}

void Greeting::say(std::string_view record) {
  const auto bytes = std::as_bytes(std::span(record));
  has_said_ = true;
  if (!session_.write({&bytes, 1})) fail(session_.why());
}

void Greeting::heard(std::string_view record) {
  ByteReader in(record);
  const std::uint32_t verdict = connects_ ? in.u32() : 1;
  const std::uint32_t wishes = in.u32();
  const std::uint32_t attempts = in.u32();
  other_->encrypts = wishes == kEncrypt;
  other_->instance = in.u64();
  if ((wishes & ~kEncrypt) != 0) return fail("it wishes what this engine does not know");
  if (verdict < 1 || verdict > 3) return fail("it says what is no verdict");
  if (!connects_) {
    std::byte more[1];
    if (session_.read(more) > 0) return fail("it says more than a hello before it has an answer");
    other_->attempt = attempts;
    state_ = State::asked;
    return;
  }
  verdict_ = static_cast<Verdict>(verdict);
  attempts_ = attempts;
  state_ = State::over;
}

void Greeting::decide(Verdict verdict, std::uint32_t attempts) {
  if (state_ != State::asked) return;
  ByteWriter out;
  out.u32(static_cast<std::uint32_t>(verdict));
  out.u32(identity_->encrypts ? kEncrypt : 0);
  out.u32(attempts);
  out.u64(identity_->instance);
  verdict_ = verdict;
  state_ = State::over;
  say(out.bytes());
}

}  // namespace scela::hca
