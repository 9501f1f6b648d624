// CALC in this process's memory. The addresses come from the program. The kernel reads and writes
// them, because it returns an error where a plain access would end the program.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "hca/progress/payloads.h"

namespace scela::hca::progress {
namespace {

constexpr std::uint32_t kMaxOperandBytes = 1024 * 1024;

enum class Direction : std::uint8_t { in, out };

// Copies through a pipe if the process may not call process_vm_readv (seccomp). The kernel then
// still reports addresses that are not mapped. One thread at a time may use a pipe.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) ends_ = {-1, -1};
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends_)
      ::close(end);
  }

  // Returns how many bytes were copied, or 0 or less if none was.
  ssize_t copy(void* to, const void* from, std::size_t bytes) {
    const ssize_t in = ::write(ends_[1], from, std::min(bytes, kChunk));
    if (in <= 0) return in;
    const ssize_t out = ::read(ends_[0], to, static_cast<std::size_t>(in));
    if (out == in) return out;
    // The rest in the pipe belongs to no copy: it is read and dropped.
    std::array<std::byte, kChunk> rest;
    while (::read(ends_[0], rest.data(), rest.size()) > 0) {
    }
    return -1;
  }

 private:
  static constexpr std::size_t kChunk = 4096;  // any pipe holds it
  std::array<int, 2> ends_{};
};

bool copy(Direction direction, std::uint64_t address, std::span<std::byte> bytes) {
  static const pid_t self = ::getpid();
  while (!bytes.empty()) {
    auto* const theirs = reinterpret_cast<void*>(address);  // NOLINT: as the request names it
    const iovec here{bytes.data(), bytes.size()}, there{theirs, bytes.size()};
    ssize_t done = direction == Direction::in ? ::process_vm_readv(self, &here, 1, &there, 1, 0)
                                              : ::process_vm_writev(self, &here, 1, &there, 1, 0);
    if (done < 0 && (errno == EPERM || errno == ENOSYS)) {
      thread_local Pipe pipe;
      done = direction == Direction::in ? pipe.copy(bytes.data(), theirs, bytes.size())
                                        : pipe.copy(theirs, bytes.data(), bytes.size());
    }
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    address += static_cast<std::uint64_t>(done);
  }
  return true;
}

}  // namespace

Status calculate_here(CalcOp op, CalcType type, const std::vector<ibv_sge>& pieces) {
  const std::uint32_t bytes = pieces[0].length;
  const bool equal =
      std::ranges::all_of(pieces, [&](const ibv_sge& piece) { return piece.length == bytes; });
  if (!equal || bytes % size_of(type) != 0 || bytes > kMaxOperandBytes) return Status::local_length;
  std::vector<std::byte> result(bytes), operand(bytes);
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    std::vector<std::byte>& to = i == 1 ? result : operand;
    if (!copy(Direction::in, pieces[i].addr, to)) return Status::local_protection;
    if (i > 1) scela::hca::calculate(op, type, result, operand);
  }
  return copy(Direction::out, pieces[0].addr, result) ? Status::success : Status::local_protection;
}

}  // namespace scela::hca::progress
