// Random bytes of the kernel, for keys, nonces and identifiers. The launcher and the agent use
// them. Any thread may call the function.
#pragma once

#include <cstddef>
#include <string>

namespace scela {

// Returns `size` bytes that no other process can guess. Blocks until the kernel has its first
// entropy, which is early in the machine's start.
std::string random_bytes(std::size_t size);

}  // namespace scela
