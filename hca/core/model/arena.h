// An allocator of the chunks that a process and its engine share: it decides where each piece lies.
// A chunk is one memfd that both map (hca/core/wire/shared_layout.h). The engine's shell owns one
// arena for each process (hca/engine/memory/chunks.h).
//
// It is pure: it handles numbers of chunks and offsets, no memory. It does not lock. Pieces are
// aligned to 64 bytes. Chunk 0 exists from the start; if no chunk has room, take() asks for a new
// one. A chunk made for one large piece is freed with that piece, and its number is not used again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "hca/core/wire/shared_layout.h"

namespace scela::hca {

class Arena {
 public:
  static constexpr std::uint64_t kAlignment = 64;  // bytes

  // Sizes of chunks in bytes.
  struct Sizes {
    std::uint64_t first = 256u << 10;  // of chunk 0
    // The size of the other chunks; a piece that needs more gets a larger one.
    std::uint64_t usual = kChunkBytes;
    std::uint64_t page = 4096;      // chunks are whole pages
    std::uint64_t most = 1u << 30;  // of all chunks together
  };

  // A range that take() has allocated. `bytes` is rounded up to kAlignment, and `offset` counts
  // from the start of the chunk.
  struct Piece {
    std::uint32_t chunk = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    // The number of bytes at the start of the piece that were part of an earlier piece. They may
    // not be zeros.
    std::uint64_t used_before = 0;
    // If this is not 0, the piece lies in a new chunk of this size, which the caller must make. If
    // the caller cannot, it must call forget().
    std::uint64_t new_chunk_bytes = 0;
  };

  // Makes an arena with chunk 0, which is empty.
  explicit Arena(const Sizes& sizes);

  // Allocates a piece of at least `bytes` bytes. Returns std::nullopt if `bytes` is 0 or the chunks
  // would exceed Sizes::most.
  std::optional<Piece> take(std::uint64_t bytes);
  // Undoes the last take() if its new chunk could not be made: the piece and its chunk count as not
  // taken. Does nothing for a piece in an older chunk.
  void forget(const Piece& piece);

  // The effect of give_back(). `unknown`: nothing, because no piece begins there. `free`: the piece
  // can be taken again, and its chunk stays. `chunk_gone`: the piece was alone in a chunk made for
  // it, and the caller must unmap that chunk.
  enum class Returned : std::uint8_t { unknown, free, chunk_gone };
  // Frees the piece that begins at `offset` of the chunk with this number.
  Returned give_back(std::uint32_t chunk, std::uint64_t offset);

  // Returns true if there is a chunk with this number.
  bool has(std::uint32_t chunk) const { return chunks_.count(chunk) != 0; }
  // Return the bytes of all chunks, and those of all pieces.
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t used() const { return used_; }

 private:
  struct Chunk {
    std::uint64_t bytes = 0;
    std::uint64_t touched = 0;  // bytes after it were never taken
    // The chunk was made for one large piece.
    bool single = false;
    // Holes as offset -> bytes; adjacent holes are merged.
    std::map<std::uint64_t, std::uint64_t> free;
    std::map<std::uint64_t, std::uint64_t> taken;  // offset -> bytes
  };

  // Adds a chunk with the next number, all of it free.
  void add_chunk(std::uint64_t bytes, bool single);
  // Allocates a piece of this chunk, which has the number `number`. Returns std::nullopt if no hole
  // of the chunk is large enough. `bytes` is rounded up already.
  std::optional<Piece> take_from(std::uint32_t number, Chunk& chunk, std::uint64_t bytes);

  Sizes sizes_;
  std::map<std::uint32_t, Chunk> chunks_;
  std::uint32_t next_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace scela::hca
