// Gives the agent's end of a rank's memory arbitrary words, before and between its own steps.
//
// Each step is five bytes: what the agent does, which word changes, and to what (small numbers and
// huge ones). Checked: what is read and written is within what was asked for and what fits, only
// the memory is touched.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "pmi/protocol/ring.h"

namespace {

namespace ring = scela::pmi::ring;

void require(bool claim) {
  if (!claim) std::abort();
}

struct Step {
  std::uint8_t what, word, low, high, shift;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The memory has the exact size, so that the address sanitizer sees accesses beyond it.
  std::vector<std::uint64_t> words(ring::kTotalBytes / 8);
  ring::ServerEnd server(ring::SharedMemory(words.data()), 1);
  std::string out(2 * ring::kCapacity, '\0');
  for (; size >= sizeof(Step); data += sizeof(Step), size -= sizeof(Step)) {
    const Step step{data[0], data[1], data[2], data[3], data[4]};
    const std::uint64_t number = (std::uint64_t{step.high} << 8 | step.low) << (step.shift % 64);
    const std::size_t most = (number * 31 + step.what) % out.size();
    words[step.word % words.size()] = number;
    switch (step.what % 6) {
      case 0:
        if (const auto got = server.read(out.data(), most)) {
          require(*got <= most && *got <= ring::kCapacity);
        }
        break;
      case 1:
        if (const auto wrote = server.write(std::string_view(out).substr(0, most))) {
          require(*wrote <= most && *wrote <= ring::kCapacity);
        }
        break;
      case 2:
        server.has_requests();
        server.has_room();
        break;
      case 3:
        server.tell();
        break;
      case 4:
        server.arm();
        break;
      default:
        if (server.is_taken()) server.close();
    }
  }
  return 0;
}
