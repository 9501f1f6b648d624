// Copies memory in which pages may be missing. The owner may have taken pages of a file away,
// memory may be exhausted, or the hardware of a page may have failed. The kernel then raises
// SIGBUS, which ends the copy and not this process. Outside of a copy the signal has its default
// effect. Machine and Pools use it for memory files; any thread may call.
#pragma once

#include <cstddef>

namespace scela::hca {

// Copies `bytes` bytes; the ranges may overlap. Returns false if some pages are missing; bytes
// copied until then stay copied. The last bytes are written last, and an aligned word of 4 or 8
// bytes in one store. A reader that polls them to see that a message has come then finds all bytes
// before them.
bool copy_guarded(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace scela::hca
