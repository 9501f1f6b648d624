// What a PMIx server says to its agent: any bytes are messages or refused, and messages are written
// and read to themselves.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pmix/core/messages.h"

using namespace scela::pmix;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Decoder decoder;
  decoder.feed({reinterpret_cast<const char*>(data), size});
  while (true) {
    auto message = decoder.next();
    if (!message || !*message) return 0;
    Decoder again;
    again.feed(encode(**message));
    auto back = again.next();
    if (!back || !*back || **back != **message) std::abort();
  }
}
