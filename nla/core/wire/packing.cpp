#include "nla/core/wire/packing.h"

#include <lz4.h>

#include "common/core/bytes.h"
#include "common/core/frame.h"

namespace scela::nla {

namespace {

// A byte of an LZ4 block stands for at most this many bytes.
constexpr std::uint64_t kMaxPerByte = 255;

}  // namespace

std::string pack(std::string_view plain) {
  if (plain.size() < kPackFrom || plain.size() > kMaxPiece) return {};
  ByteWriter size;
  size.varint(plain.size());
  std::string out = size.take();
  const std::size_t head = out.size();
  // The buffer has no room for a result that saves less than an eighth. LZ4 gives up then.
  out.resize(plain.size() - plain.size() / 8);
  const int bytes =
      LZ4_compress_default(plain.data(), out.data() + head, static_cast<int>(plain.size()),
                           static_cast<int>(out.size() - head));
  if (bytes <= 0) return {};
  out.resize(head + static_cast<std::size_t>(bytes));
  return out;
}

std::optional<std::string> unpack(std::string_view packed) {
  ByteReader in(packed);
  const std::uint64_t size = in.varint();
  const std::string_view block = in.rest();
  if (!in.ok() || size > kMaxPerByte * block.size() || size > kMaxPiece) return std::nullopt;
  std::string out(size, '\0');
  const int bytes = LZ4_decompress_safe(block.data(), out.data(), static_cast<int>(block.size()),
                                        static_cast<int>(size));
  if (bytes < 0 || static_cast<std::uint64_t>(bytes) != size) return std::nullopt;
  return out;
}

}  // namespace scela::nla
