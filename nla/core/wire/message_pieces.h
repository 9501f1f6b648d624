// Cuts bytes into the pieces that travel in several messages. A pure function, for any thread.
#pragma once

#include <cstddef>

#include "common/core/chunk.h"

namespace scela::nla {

// Calls each(const Chunk& piece, std::size_t offset, bool last) for pieces of at most `most` bytes,
// in order. `last` is true in the last call. If there are no bytes, calls it once with an empty
// piece.
template <class Each>
void for_each_piece(const Chunk& bytes, std::size_t most, Each each) {
  std::size_t offset = 0;
  bool last = false;
  do {
    const Chunk piece = bytes.slice(offset, most);
    last = offset + piece.size() >= bytes.size();
    each(piece, offset, last);
    offset += piece.size();
  } while (!last);
}

}  // namespace scela::nla
