#include "hca/engine/peer_seal.h"

#include <openssl/evp.h>

#include <algorithm>
#include <utility>

#include "hca/engine/peer_crypto.h"

namespace scela::hca {

namespace {

constexpr std::size_t kKey = 16;
constexpr std::size_t kNumber = 12;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* one) const { ::EVP_CIPHER_CTX_free(one); }
};

const unsigned char* at(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* at(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

}  // namespace

struct SealKeys::Context {
  std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> cipher{::EVP_CIPHER_CTX_new()};
};

SealKeys::SealKeys(std::string secret, std::uint64_t per_key)
    : context_(std::make_unique<Context>()), secret_(std::move(secret)), per_key_(per_key) {}

SealKeys::SealKeys(SealKeys&& other) noexcept = default;
SealKeys& SealKeys::operator=(SealKeys&& other) noexcept {
  // What this one had goes with the other, which wipes it.
  context_.swap(other.context_);
  secret_.swap(other.secret_);
  number_.swap(other.number_);
  std::swap(per_key_, other.per_key_);
  std::swap(records_, other.records_);
  return *this;
}

SealKeys::~SealKeys() {
  wipe(secret_);
  wipe(number_);
}

bool SealKeys::begin(bool encrypts) {
  EVP_CIPHER_CTX* const cipher = context_->cipher.get();
  if (records_ == per_key_) {
    std::string next = derive(secret_, {}, "scela-hca next secret", kSecretBytes);
    wipe(secret_);
    secret_ = std::move(next);
    records_ = 0;
  }
  if (cipher == nullptr || secret_.empty()) return false;
  if (records_ == 0) {
    std::string key = derive(secret_, {}, "scela-hca key", kKey);
    number_ = derive(secret_, {}, "scela-hca number", kNumber);
    const bool ready = key.size() == kKey && number_.size() == kNumber &&
                       ::EVP_CipherInit_ex(cipher, ::EVP_aes_128_gcm(), nullptr,
                                           reinterpret_cast<const unsigned char*>(key.data()),
                                           nullptr, encrypts ? 1 : 0) == 1;
    wipe(key);
    if (!ready) return false;
  }
  unsigned char nonce[kNumber];
  std::copy(number_.begin(), number_.end(), nonce);
  for (std::size_t i = 0; i < sizeof records_; ++i)
    nonce[kNumber - 1 - i] ^= static_cast<unsigned char>(records_ >> (8 * i));
  ++records_;
  return ::EVP_CipherInit_ex(cipher, nullptr, nullptr, nullptr, nonce, -1) == 1;
}

bool Sealer::seal(std::span<const std::span<const std::byte>> pieces, std::vector<std::byte>& to) {
  std::size_t bytes = 0;
  for (const auto piece : pieces)
    bytes += piece.size();
  if (bytes == 0 || bytes > kMostSealed || !begin(true)) return false;
  EVP_CIPHER_CTX* const cipher = context_->cipher.get();
  const std::size_t before = to.size();
  to.resize(before + bytes + kSealOverhead);
  std::byte* const length = to.data() + before;
  for (std::size_t i = 0; i < kSealLength; ++i)
    length[i] = static_cast<std::byte>(bytes >> (8 * i));
  int made = 0;
  bool good = ::EVP_EncryptUpdate(cipher, nullptr, &made, at(length), kSealLength) == 1;
  std::byte* next = length + kSealLength;
  for (const auto piece : pieces) {
    if (piece.empty()) continue;
    good = good && ::EVP_EncryptUpdate(cipher, at(next), &made, at(piece.data()),
                                       static_cast<int>(piece.size())) == 1;
    next += piece.size();
  }
  good = good && ::EVP_EncryptFinal_ex(cipher, at(next), &made) == 1 &&
         ::EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, kSealTag, next) == 1;
  // What was not encrypted to its end is not to leave.
  if (!good) to.resize(before);
  return good;
}

bool Opener::open_one(std::span<const std::byte> record, std::byte* to) {
  if (!begin(false)) return false;
  EVP_CIPHER_CTX* const cipher = context_->cipher.get();
  const std::span held = record.subspan(kSealLength, record.size() - kSealOverhead);
  std::byte tag[kSealTag];
  std::ranges::copy(record.last(kSealTag), tag);
  int made = 0;
  return ::EVP_DecryptUpdate(cipher, nullptr, &made, at(record.data()), kSealLength) == 1 &&
         ::EVP_DecryptUpdate(cipher, at(to), &made, at(held.data()),
                             static_cast<int>(held.size())) == 1 &&
         ::EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, kSealTag, tag) == 1 &&
         ::EVP_DecryptFinal_ex(cipher, at(to) + held.size(), &made) == 1;
}

std::optional<std::size_t> Opener::open(std::span<const std::byte>& sealed,
                                        std::span<std::byte> room) {
  std::size_t filled = 0;
  while (!broken_ && sealed.size() >= kSealLength) {
    std::size_t bytes = 0;
    for (std::size_t i = kSealLength; i > 0; --i)
      bytes = bytes << 8 | std::to_integer<std::size_t>(sealed[i - 1]);
    broken_ = bytes == 0 || bytes > kMostSealed;
    if (broken_ || sealed.size() - kSealLength < bytes + kSealTag) break;
    broken_ = room.size() - filled < bytes ||
              !open_one(sealed.first(bytes + kSealOverhead), room.data() + filled);
    if (broken_) break;
    filled += bytes;
    sealed = sealed.subspan(bytes + kSealOverhead);
  }
  if (!broken_) return filled;
  std::ranges::fill(room, std::byte{});
  return std::nullopt;
}

}  // namespace scela::hca
