// Packed pieces of a fence: any bytes are unpacked to bounded ones or refused, and what they hold
// is packed and unpacked to itself.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/core/frame.h"
#include "nla/core/wire/packing.h"

using namespace scela::nla;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto plain = unpack(bytes);
  if (!plain) return 0;
  if (plain->size() > 255 * size || plain->size() > scela::kMaxPiece) std::abort();
  const std::string again = pack(*plain);
  if (!again.empty() && unpack(again) != *plain) std::abort();
  return 0;
}
