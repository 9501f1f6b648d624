// Proves algorithms of gather and of scatter, which have the same trees. The tests of both use it.
#pragma once

#include <cstdint>

#include "collectives/core/shape.h"

namespace scela::collectives {

// Proves all algorithms of the operation, with each root, in place and not. The sequential one has
// `of_each` messages with each rank that is not the root; the others have as many as the formulas
// of their trees say.
void prove_rooted(Operation operation, std::uint32_t of_each);
// Proves their v forms, with blocks of a few bytes, none, and many.
void prove_rooted_sizes(Operation operation);

}  // namespace scela::collectives
