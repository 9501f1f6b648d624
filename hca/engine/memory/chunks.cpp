#include "hca/engine/memory/chunks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace scela::hca {

namespace {

constexpr std::uint64_t kPage = 4096;

// Gives pages that are no longer used back to the system. They read as zeros when they are used
// again.
void give_up_pages(std::byte* from, std::byte* to) {
  const auto start = (reinterpret_cast<std::uintptr_t>(from) + kPage - 1) / kPage * kPage;
  const auto end = reinterpret_cast<std::uintptr_t>(to) / kPage * kPage;
  if (end <= start) return;
  static_cast<void>(::madvise(reinterpret_cast<void*>(start), end - start, MADV_REMOVE));
}

}  // namespace

Result<Chunks> Chunks::make() {
  auto memory = SealedMemory::make("scela-hca", Arena::Sizes{}.first, SealedMemory::Writers::all);
  if (!memory) return fail(memory.error());
  Chunks made;
  made.arena_.take(kPage);
  made.page_ = new (memory->base()) ProcessPage;
  made.memory_.emplace(0, std::move(*memory));
  made.new_.push_back(0);
  return made;
}

Host::Shared Chunks::allocate(std::uint64_t bytes) {
  const auto piece = arena_.take(bytes);
  if (!piece) return {};
  if (piece->new_chunk_bytes != 0) {
    auto memory =
        SealedMemory::make("scela-hca", piece->new_chunk_bytes, SealedMemory::Writers::all);
    if (!memory) {
      arena_.forget(*piece);
      return {};
    }
    memory_.emplace(piece->chunk, std::move(*memory));
    new_.push_back(piece->chunk);
  }
  auto* const base = static_cast<std::byte*>(memory_.at(piece->chunk).base()) + piece->offset;
  std::memset(base, 0, piece->used_before);
  return {base, {piece->chunk, 0, piece->offset, bytes}};
}

void Chunks::release(const Region& region) {
  const auto found = memory_.find(region.chunk);
  if (found == memory_.end() || (region.chunk == 0 && region.offset == 0))
    return;  // the page stays
  auto* const base = static_cast<std::byte*>(found->second.base()) + region.offset;
  switch (arena_.give_back(region.chunk, region.offset)) {
    case Arena::Returned::unknown:
      return;
    case Arena::Returned::free:
      return give_up_pages(base, base + region.bytes);
    case Arena::Returned::chunk_gone:
      // The process still maps the chunk, but its pages are freed now.
      give_up_pages(base, base + region.bytes);
      if (std::find(new_.begin(), new_.end(), region.chunk) == new_.end()) memory_.erase(found);
      return;
  }
}

std::vector<int> Chunks::new_descriptors() const {
  std::vector<int> descriptors;
  for (const std::uint32_t number : new_)
    descriptors.push_back(memory_.at(number).fd().get());
  return descriptors;
}

void Chunks::handed_over() {
  for (const std::uint32_t number : new_) {
    memory_.at(number).close_fd();
    if (!arena_.has(number)) memory_.erase(number);
  }
  new_.clear();
}

}  // namespace scela::hca
