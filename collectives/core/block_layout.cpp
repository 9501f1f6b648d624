#include "collectives/core/block_layout.h"

#include <algorithm>
#include <utility>

namespace scela::collectives {

BlockSizes BlockSizes::equal(std::uint32_t count, std::uint64_t bytes) {
  BlockSizes out;
  out.count_ = count;
  out.each_ = bytes;
  return out;
}

BlockSizes BlockSizes::packed(const std::vector<std::uint64_t>& sizes) {
  std::vector<std::uint64_t> offsets;
  offsets.reserve(sizes.size());
  std::uint64_t end = 0;
  for (const std::uint64_t size : sizes) {
    offsets.push_back(end);
    end += size;
  }
  return placed(std::move(offsets), sizes);
}

BlockSizes BlockSizes::placed(std::vector<std::uint64_t> offsets,
                              std::vector<std::uint64_t> sizes) {
  BlockSizes out;
  out.count_ = static_cast<std::uint32_t>(std::min(offsets.size(), sizes.size()));
  out.offsets_ = std::move(offsets);
  out.sizes_ = std::move(sizes);
  out.packed_ = out.touch(0, out.count_);
  return out;
}

namespace {

// Appends the sizes of `count` parts of `bytes`. If `bytes` is no multiple of `unit`, the last part
// that is not empty is short.
void append_cut(std::vector<std::uint64_t>& sizes, std::uint64_t bytes, std::uint32_t count,
                std::uint64_t unit) {
  const std::uint64_t units = bytes / unit + (bytes % unit != 0 ? 1 : 0);
  const std::uint64_t larger = units % count;
  std::uint64_t left = bytes;
  for (std::uint32_t part = 0; part < count; ++part) {
    const std::uint64_t size = std::min(left, (units / count + (part < larger ? 1 : 0)) * unit);
    sizes.push_back(size);
    left -= size;
  }
}

}  // namespace

BlockSizes BlockSizes::cut(std::uint64_t bytes, std::uint32_t count, std::uint64_t unit) {
  return segmented(equal(1, bytes), count, unit);
}

BlockSizes BlockSizes::segmented(const BlockSizes& whole, std::uint32_t parts, std::uint64_t unit) {
  if (parts == 0) return {};
  if (parts == 1) return whole;
  unit = std::max<std::uint64_t>(unit, 1);
  if (whole.offsets_.empty() && whole.each_ / parts / unit * parts * unit == whole.each_) {
    return equal(whole.count_ * parts, whole.each_ / parts);
  }
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> sizes;
  offsets.reserve(std::size_t{whole.count_} * parts);
  sizes.reserve(std::size_t{whole.count_} * parts);
  for (std::uint32_t block = 0; block < whole.count_; ++block) {
    append_cut(sizes, whole.size(block), parts, unit);
    std::uint64_t offset = whole.offset(block);
    for (std::uint32_t part = 0; part < parts; ++part) {
      offsets.push_back(offset);
      offset += sizes[offsets.size() - 1];
    }
  }
  return placed(std::move(offsets), std::move(sizes));
}

std::uint32_t BlockSizes::count() const {
  return count_;
}

std::uint64_t BlockSizes::offset(std::uint32_t block) const {
  return offsets_.empty() ? block * each_ : offsets_[block];
}

std::uint64_t BlockSizes::size(std::uint32_t block) const {
  return offsets_.empty() ? each_ : sizes_[block];
}

std::uint64_t BlockSizes::size(std::uint32_t first, std::uint32_t count) const {
  if (offsets_.empty()) return count * each_;
  if (count == 0) return 0;
  const std::uint32_t last = first + count - 1;
  return offsets_[last] + sizes_[last] - offsets_[first];
}

bool BlockSizes::is_run(std::uint32_t first, std::uint32_t count) const {
  return packed_ || touch(first, count);
}

std::uint64_t BlockSizes::total(std::uint32_t first, std::uint32_t count) const {
  if (packed_) return size(first, count);
  std::uint64_t bytes = 0;
  for (std::uint32_t block = first; block < first + count; ++block)
    bytes += sizes_[block];
  return bytes;
}

std::uint64_t BlockSizes::end() const {
  if (count_ == 0) return 0;
  if (packed_) return offset(count_ - 1) + size(count_ - 1);
  std::uint64_t last = 0;
  for (std::uint32_t block = 0; block < count_; ++block)
    last = std::max(last, offsets_[block] + sizes_[block]);
  return last;
}

bool BlockSizes::touch(std::uint32_t first, std::uint32_t count) const {
  for (std::uint32_t block = first; block + 1 < first + count; ++block) {
    if (offsets_[block] + sizes_[block] != offsets_[block + 1]) return false;
  }
  return true;
}

}  // namespace scela::collectives
