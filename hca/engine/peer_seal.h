// What goes over a connection between nodes that is encrypted: records, sealed with AES-128-GCM.
//
//   length    4 bytes, little-endian: how many the record holds, 1 to kMostSealed
//   bytes     encrypted
//   tag       16 bytes, over the length as well
//
// Each direction has a secret of its own, from which come a key and a number of 12 bytes; the nonce
// of a record is that number, exclusive-or its place in the stream, so a record that is changed,
// left out, repeated or moved has the wrong tag, and is the last one. After kSealedPerKey records
// both ends derive the next secret from this one, and forget this one.
//
// Bytes in, bytes out: no socket, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace scela::hca {

inline constexpr std::size_t kMostSealed = 64u << 10;
inline constexpr std::size_t kSealLength = 4;
inline constexpr std::size_t kSealTag = 16;
inline constexpr std::size_t kSealOverhead = kSealLength + kSealTag;
// 2^34 blocks: the chance to tell what is encrypted from noise stays below 2^-60 (RFC 8446, 5.5).
inline constexpr std::uint64_t kSealedPerKey = std::uint64_t{1} << 22;

// Secrets of the two directions, as one end has them.
struct SealSecrets {
  std::string out;
  std::string in;
};

// The keys of one direction, one after the other.
class SealKeys {
 public:
  SealKeys(std::string secret, std::uint64_t per_key);
  ~SealKeys();
  SealKeys(SealKeys&& other) noexcept;
  SealKeys& operator=(SealKeys&& other) noexcept;

 protected:
  // Makes the library ready for the next record. False: it refuses.
  bool begin(bool encrypts);
  struct Context;
  std::unique_ptr<Context> context_;

 private:
  std::string secret_;
  std::string number_;
  std::uint64_t per_key_;
  std::uint64_t records_ = 0;  // under this key
};

class Sealer : private SealKeys {
 public:
  explicit Sealer(std::string secret, std::uint64_t per_key = kSealedPerKey)
      : SealKeys(std::move(secret), per_key) {}
  // Appends a record of the pieces, 1 to kMostSealed bytes altogether. False: the library refuses,
  // and nothing more can be sealed.
  bool seal(std::span<const std::span<const std::byte>> pieces, std::vector<std::byte>& to);
};

class Opener : private SealKeys {
 public:
  explicit Opener(std::string secret, std::uint64_t per_key = kSealedPerKey)
      : SealKeys(std::move(secret), per_key) {}
  // Opens whole records off the front of `sealed`, into `room`, which is at least as long and
  // somewhere else; returns how many bytes they held. Nothing: what came is not what was sealed,
  // or not in its place; then nothing of it, and nothing more, is to be taken.
  std::optional<std::size_t> open(std::span<const std::byte>& sealed, std::span<std::byte> room);

 private:
  bool open_one(std::span<const std::byte> record, std::byte* to);
  bool broken_ = false;
};

}  // namespace scela::hca
