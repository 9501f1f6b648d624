#include "hca/core/model/arena.h"

#include <algorithm>
#include <iterator>

namespace scela::hca {

namespace {
std::uint64_t rounded(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}
}  // namespace

Arena::Arena(const Sizes& sizes) : sizes_(sizes) {
  add_chunk(sizes.first, false);
}

void Arena::add_chunk(std::uint64_t bytes, bool single) {
  Chunk& chunk = chunks_[next_++];
  chunk.bytes = bytes;
  chunk.single = single;
  chunk.free.emplace(0, bytes);
  bytes_ += bytes;
}

std::optional<Arena::Piece> Arena::take_from(std::uint32_t number, Chunk& chunk,
                                             std::uint64_t bytes) {
  const auto room = std::find_if(chunk.free.begin(), chunk.free.end(),
                                 [bytes](const auto& hole) { return hole.second >= bytes; });
  if (room == chunk.free.end()) return std::nullopt;
  const auto [offset, there] = *room;
  chunk.free.erase(room);
  if (there > bytes) chunk.free.emplace(offset + bytes, there - bytes);
  chunk.taken.emplace(offset, bytes);
  Piece piece{number, offset, bytes, 0, 0};
  if (chunk.touched > offset) piece.used_before = std::min(chunk.touched - offset, bytes);
  chunk.touched = std::max(chunk.touched, offset + bytes);
  used_ += bytes;
  return piece;
}

std::optional<Arena::Piece> Arena::take(std::uint64_t bytes) {
  if (bytes == 0 || bytes > sizes_.most) return std::nullopt;
  bytes = rounded(bytes, kAlignment);
  for (auto& [number, chunk] : chunks_) {
    if (chunk.single) continue;
    if (auto piece = take_from(number, chunk, bytes)) return piece;
  }
  const bool single = bytes > sizes_.usual;
  const std::uint64_t size = single ? rounded(bytes, sizes_.page) : sizes_.usual;
  if (bytes_ > sizes_.most || size > sizes_.most - bytes_) return std::nullopt;
  const std::uint32_t number = next_;
  add_chunk(size, single);
  auto piece = take_from(number, chunks_.at(number), bytes);
  piece->new_chunk_bytes = size;
  return piece;
}

void Arena::forget(const Piece& piece) {
  if (piece.new_chunk_bytes == 0 || piece.chunk + 1 != next_) return;
  chunks_.erase(piece.chunk);
  --next_;
  bytes_ -= piece.new_chunk_bytes;
  used_ -= piece.bytes;
}

Arena::Returned Arena::give_back(std::uint32_t chunk, std::uint64_t offset) {
  const auto found = chunks_.find(chunk);
  if (found == chunks_.end()) return Returned::unknown;
  Chunk& of = found->second;
  const auto piece = of.taken.find(offset);
  if (piece == of.taken.end()) return Returned::unknown;
  std::uint64_t bytes = piece->second;
  used_ -= bytes;
  of.taken.erase(piece);
  if (of.single && of.taken.empty()) {
    bytes_ -= of.bytes;
    chunks_.erase(found);
    return Returned::chunk_gone;
  }
  auto next = of.free.lower_bound(offset);
  if (next != of.free.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = of.free.erase(next);
  }
  if (next != of.free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return Returned::free;
    }
  }
  of.free.emplace(offset, bytes);
  return Returned::free;
}

}  // namespace scela::hca
