#include "comm-channel/shm/wakers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "comm-channel/shm/processes.h"
#include "common/core/text.h"
#include "common/os/futex.h"
#include "common/os/syscall.h"

namespace scela::channel::shm {

namespace {

// The process that was to wake a sleeper may have been killed before it did so. So no rank sleeps
// longer than this without looking.
constexpr std::chrono::milliseconds kSlice{100};

timespec moment_in(std::chrono::nanoseconds time) {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
  until.tv_sec += whole.count();
  until.tv_nsec += (time - whole).count();
  if (until.tv_nsec >= 1'000'000'000) {
    ++until.tv_sec;
    until.tv_nsec -= 1'000'000'000;
  }
  return until;
}

const std::uint32_t* word_of(const SharedAtomic<std::uint32_t>& word) {
  return reinterpret_cast<const std::uint32_t*>(&word);
}

std::chrono::nanoseconds slice_of(std::optional<std::chrono::nanoseconds> limit) {
  return std::min<std::chrono::nanoseconds>(limit.value_or(kSlice), kSlice);
}

}  // namespace

Wakers::Wakers(const Segment& segment, std::uint32_t rank)
    : segment_(segment), rank_(rank), pipes_(segment.shape().ranks) {
  segment_.member(rank_).pipe = -1;
}

Result<void> Wakers::make_pipe() {
  auto made = scela::make_pipe();
  struct stat status {};
  if (!made) return fail(std::move(made.error()));
  if (!set_nonblocking(made->read.get()) || !set_nonblocking(made->write.get()) ||
      ::fstat(made->read.get(), &status) != 0)
    return fail(os_error(ErrorKind::io, "make a pipe to be woken by", errno));
  own_ = std::move(made->read);
  pipes_[rank_] = std::move(made->write);
  Member& member = segment_.member(rank_);
  member.pipe = own_.get();
  member.pipe_inode = status.st_ino;
  return {};
}

// Opens the pipe by /proc, like the segment: a rank that may not look there does not get here. The
// descriptor is open for both ends, so that the end of the reader is no signal for the writer.
int Wakers::pipe_of(std::uint32_t rank) {
  const Member& member = segment_.member(rank);
  if (member.pipe < 0) return -1;
  Fd& known = pipes_[rank];
  if (known) return known.get();
  const std::uint64_t started = start_of(member.pid);
  if (started != 0 && started != member.started) return -1;
  Fd opened(::open(cat("/proc/", member.pid, "/fd/", member.pipe).c_str(),
                   O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  // A process of that number may be another one by now.
  if (!opened || ::fstat(opened.get(), &status) != 0 || !S_ISFIFO(status.st_mode) ||
      status.st_ino != member.pipe_inode)
    return -1;
  known = std::move(opened);
  return known.get();
}

void Wakers::wake(std::uint32_t rank, SharedAtomic<std::uint32_t>& word) {
  const int pipe = pipe_of(rank);
  if (pipe < 0) return futex_wake(word_of(word));
  // If the pipe is full, the rank wakes as well.
  static_cast<void>(retry([&] { return ::write(pipe, "", 1); }));
}

void Wakers::wake_in_any_case(std::uint32_t rank) {
  SharedAtomic<std::uint32_t>& word = segment_.area(rank).mailbox->asleep;
  word.exchange(0, std::memory_order_seq_cst);
  wake(rank, word);
}

void Wakers::sleep_on(const SharedAtomic<std::uint32_t>& word,
                      std::optional<std::chrono::nanoseconds> limit) {
  const timespec until = moment_in(slice_of(limit));
  futex_wait(word_of(word), 1, &until);
}

bool Wakers::sleep_beside(int descriptor, std::optional<std::chrono::nanoseconds> limit) {
  std::array<pollfd, 2> watched{{{own_.get(), POLLIN, 0}, {descriptor, POLLIN, 0}}};
  const auto most = slice_of(limit);
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(most);
  const timespec time{whole.count(), (most - whole).count()};
  ::ppoll(watched.data(), watched.size(), &time, nullptr);
  // Reads also a byte that another rank has written late, for the sleep before.
  std::array<std::byte, 64> ignored;
  if (watched[0].revents != 0)
    static_cast<void>(::read(own_.get(), ignored.data(), ignored.size()));
  return watched[1].revents != 0;
}

}  // namespace scela::channel::shm
