#include "hca/engine/memory/pools.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "hca/engine/memory/sigbus_copy.h"

namespace scela::hca {

namespace {

constexpr std::uint64_t kBlock = 512;  // the unit of stat(2)

// The distance between two pools, larger than any page. So no address belongs to two pools, and
// none begins at another's end.
constexpr std::uint64_t kApart = 1ULL << 30;

struct Span {
  std::uint64_t begin = 0;  // in the file, as the kernel can map it
  std::uint64_t bytes = 0;
};

// Returns 0, or the errno that says why the file is no pool. Only memory files have seals. Only
// those made for sealing (memfd_create) can be sealed against shrinking.
int judge(const Fd& file, const Pools::Part& part, Span& span) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  struct stat status {};
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file.get(), &status) != 0) return EINVAL;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (part.length == 0 || part.offset > size || part.length > size - part.offset) return EINVAL;
  // The block size is that of huge pages, if the file has those.
  const auto page = static_cast<std::uint64_t>(
      std::max({::sysconf(_SC_PAGESIZE), static_cast<long>(status.st_blksize), 1L}));
  span.begin = part.offset / page * page;
  span.bytes = (part.offset + part.length - span.begin + page - 1) / page * page;
  const auto filled = static_cast<std::uint64_t>(status.st_blocks) * kBlock;
  return filled >= part.length ? 0 : EFAULT;
}

}  // namespace

Pools::Mapping::Mapping(Mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_) {}

Pools::Mapping& Pools::Mapping::operator=(Mapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Pools::Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Pools::Made Pools::map(const Fd& file, const Part& part) {
  Span span;
  if (const int error = judge(file, part, span)) return {error, 0};
  if (pools_.size() >= kMax || bytes_ > kMaxBytes || span.bytes > kMaxBytes - bytes_ ||
      next_ > ~0ULL - kApart - kMaxBytes)
    return {ENOMEM, 0};
  const int access = part.writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const base =
      ::mmap(nullptr, span.bytes, access, MAP_SHARED, file.get(), static_cast<off_t>(span.begin));
  if (base == MAP_FAILED) return {errno == EPERM ? EACCES : errno, 0};
  Mapping mapping(static_cast<std::byte*>(base), span.bytes);
  // A core dump must not hold the program's memory.
  ::madvise(base, span.bytes, MADV_DONTDUMP);
  const std::uint64_t begin = part.offset - span.begin;
  const std::uint64_t address = next_ + begin;
  pools_.push_back({address, part.length, begin, part.writable, 0, std::move(mapping)});
  next_ = (next_ + span.bytes + kApart) / kApart * kApart;
  bytes_ += span.bytes;
  return {0, address};
}

void Pools::name(std::uint64_t address, std::uint32_t region) {
  for (Pool& pool : pools_)
    if (pool.address == address) pool.region = region;
}

void Pools::unmap(std::uint64_t address) {
  const auto found = std::ranges::find(pools_, address, &Pool::address);
  if (found == pools_.end()) return;
  bytes_ -= found->mapping.bytes();
  pools_.erase(found);
}

void Pools::unmap_region(std::uint32_t region) {
  const auto found = std::ranges::find(pools_, region, &Pool::region);
  if (found != pools_.end()) unmap(found->address);
}

std::byte* Pools::at(std::uint64_t address, std::uint64_t bytes, bool writes) const {
  auto found = std::ranges::upper_bound(pools_, address, {}, &Pool::address);
  if (found == pools_.begin()) return nullptr;
  --found;
  const std::uint64_t offset = address - found->address;
  if (offset > found->length || bytes > found->length - offset) return nullptr;
  if (writes && !found->writable) return nullptr;
  return found->mapping.base() + found->begin + offset;
}

bool Pools::read(std::uint64_t address, std::span<std::byte> to) const {
  const std::byte* const from = at(address, to.size(), false);
  return from != nullptr && copy_guarded(to.data(), from, to.size());
}

bool Pools::write(std::uint64_t address, std::span<const std::byte> from) const {
  std::byte* const to = at(address, from.size(), true);
  return to != nullptr && copy_guarded(to, from.data(), from.size());
}

}  // namespace scela::hca
