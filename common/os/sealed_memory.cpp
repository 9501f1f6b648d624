#include "common/os/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela {

namespace {
constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kReadOnly = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

Error failed(const char* what) {
  return os_error(ErrorKind::io, what, errno);
}
}  // namespace

Result<SealedMemory> SealedMemory::make(const char* name, std::uint64_t bytes, Writers writers) {
  Fd writing(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!writing) return fail(failed("make shared memory"));
  if (::ftruncate(writing.get(), static_cast<off_t>(bytes)) != 0) {
    return fail(failed("size shared memory"));
  }
  // The seals come before the mapping: the size of mapped memory must not change either.
  if (::fcntl(writing.get(), F_ADD_SEALS, kFixedSize) != 0) {
    return fail(failed("seal shared memory"));
  }
  void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, writing.get(), 0);
  if (base == MAP_FAILED) return fail(failed("map shared memory"));
  Fd handed_on;
  if (writers == Writers::all) {
    if (::fcntl(writing.get(), F_ADD_SEALS, F_SEAL_SEAL) == 0) handed_on = std::move(writing);
  } else if (::fcntl(writing.get(), F_ADD_SEALS, kReadOnly) == 0) {
    handed_on.reset(::open(cat("/proc/self/fd/", writing.get()).c_str(), O_RDONLY | O_CLOEXEC));
  }
  SealedMemory made(std::move(handed_on), base, bytes);
  if (!made.fd_) return fail(failed("seal shared memory"));
  return made;
}

Result<SealedMemory> SealedMemory::attach(Fd fd, Writers writers) {
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  struct stat status {};
  if (seals < 0 || ::fstat(fd.get(), &status) != 0) return fail(failed("look at shared memory"));
  if ((seals & kFixedSize) != kFixedSize) {
    return fail(Error{ErrorKind::protocol, "map shared memory", "", "its size is not sealed", ""});
  }
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  const int access = writers == Writers::all ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const base = ::mmap(nullptr, bytes, access, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return fail(failed("map shared memory"));
  return SealedMemory(std::move(fd), base, bytes);
}

SealedMemory::SealedMemory(Fd fd, void* base, std::uint64_t bytes)
    : fd_(std::move(fd)), base_(base), bytes_(bytes) {}

SealedMemory::SealedMemory(SealedMemory&& other) noexcept
    : fd_(std::move(other.fd_)),
      base_(std::exchange(other.base_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SealedMemory& SealedMemory::operator=(SealedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SealedMemory::~SealedMemory() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

}  // namespace scela
