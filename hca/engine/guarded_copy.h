// Copies where memory may not answer: pages of a file that its owner has taken away, of which there
// is none left to take their place, or whose hardware has failed. The signal that the kernel sends
// then (SIGBUS) ends the copy, and not this process; anywhere else it does what it always does.
#pragma once

#include <cstddef>

namespace scela::hca {

// False: some of it is not there; what was copied until then stays. The last bytes come last, and
// whole numbers at once: who looks at them to see that a message has come finds all before them.
bool copy_guarded(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace scela::hca
