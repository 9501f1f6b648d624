// What a process and its engine share is cut out of chunks of memory: where each piece stands.
//
// Pure: numbers of chunks and offsets, no memory. Pieces are aligned to 64 bytes. Chunk 0 is there
// from the start; another is asked for where none has room. A chunk that one large piece was made
// for goes with it, and its number is not used again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "hca/core/layout.h"

namespace scela::hca {

class Arena {
 public:
  static constexpr std::uint64_t kAlignment = 64;

  struct Sizes {
    std::uint64_t first = 256u << 10;   // of chunk 0
    std::uint64_t usual = kChunkBytes;  // of the others; a larger one where a piece needs it
    std::uint64_t page = 4096;          // chunks are whole pages
    std::uint64_t most = 1u << 30;      // of all chunks together
  };

  struct Piece {
    std::uint32_t chunk = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    // This much of it, from its start, was part of another piece: it is not zeros.
    std::uint64_t used_before = 0;
    // Not 0: it stands in a new chunk, of this size, for the caller to make (or forget()).
    std::uint64_t new_chunk_bytes = 0;
  };

  explicit Arena(const Sizes& sizes);

  // None: it would be more than `most`, or of no bytes.
  std::optional<Piece> take(std::uint64_t bytes);
  // The new chunk of the last take() could not be made: that piece and its chunk are as if not
  // taken.
  void forget(const Piece& piece);

  enum class Returned : std::uint8_t { unknown, free, chunk_gone };
  // unknown: no piece begins there. chunk_gone: it was a chunk's only one, and the chunk goes too.
  Returned give_back(std::uint32_t chunk, std::uint64_t offset);

  bool has(std::uint32_t chunk) const { return chunks_.count(chunk) != 0; }
  std::uint64_t bytes() const { return bytes_; }  // of all chunks
  std::uint64_t used() const { return used_; }    // of all pieces

 private:
  struct Chunk {
    std::uint64_t bytes = 0;
    std::uint64_t touched = 0;  // behind it nothing was ever taken
    bool single = false;
    std::map<std::uint64_t, std::uint64_t> free;   // offset -> bytes; neighbours are one
    std::map<std::uint64_t, std::uint64_t> taken;  // offset -> bytes
  };

  void add_chunk(std::uint64_t bytes, bool single);
  std::optional<Piece> take_from(std::uint32_t number, Chunk& chunk, std::uint64_t bytes);

  Sizes sizes_;
  std::map<std::uint32_t, Chunk> chunks_;
  std::uint32_t next_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace scela::hca
