// Fuzzes what a PMIx server says to its agent, and what agents say of processes. Any bytes are
// messages or are refused, and messages are written and read to themselves.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pmix/core/pmix_messages.h"
#include "pmix/core/process.h"

using namespace scela::pmix;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto table = decode_processes(bytes);
  if (table && decode_processes(encode_processes(*table)) != table) std::abort();
  Decoder decoder;
  decoder.feed(bytes);
  while (true) {
    auto message = decoder.next();
    if (!message || !*message) return 0;
    Decoder again;
    again.feed(encode(**message));
    auto back = again.next();
    if (!back || !*back || **back != **message) std::abort();
  }
}
