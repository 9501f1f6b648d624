#include "hca/engine/io/tagged_poller.h"

#include <cerrno>
#include <ctime>

#include "common/os/syscall.h"

namespace scela::hca {

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Packs a tag into 64 bits. A descriptor fits into 24 bits: the kernel's limit for open files is
// 2^20 by default.
std::uint64_t packed(const Tag& tag) {
  return static_cast<std::uint64_t>(tag.kind) << 56 |
         static_cast<std::uint64_t>(tag.descriptor & 0xffffff) << 32 | tag.id;
}

Tag unpacked(std::uint64_t word) {
  return {static_cast<Tag::Kind>(word >> 56), static_cast<std::uint32_t>(word),
          static_cast<std::uint32_t>(word >> 32) & 0xffffff};
}

}  // namespace

Result<TaggedPoller> TaggedPoller::make() {
  Fd made(::epoll_create1(EPOLL_CLOEXEC));
  if (!made) return fail(os_error(ErrorKind::io, "make an epoll descriptor", errno));
  return TaggedPoller(std::move(made));
}

bool TaggedPoller::add(int descriptor, std::uint32_t events, Tag tag) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = packed(tag);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return true;
  return errno == EEXIST && ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event) == 0;
}

void TaggedPoller::remove(int descriptor) const {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

std::span<const TaggedPoller::Ready> TaggedPoller::wait(std::optional<std::uint64_t> most) {
  int count = 0;
  if (most && *most == 0) {
    count = ::epoll_wait(epoll_.get(), events_, kAtOnce, 0);
  } else {
    timespec limit{};
    if (most) {
      limit.tv_sec = static_cast<time_t>(*most / kSecond);
      limit.tv_nsec = static_cast<long>(*most % kSecond);
    }
    count = ::epoll_pwait2(epoll_.get(), events_, kAtOnce, most ? &limit : nullptr, nullptr);
    if (count < 0 && errno == ENOSYS) {  // before Linux 5.11: milliseconds
      const int ms = most ? static_cast<int>((*most + 999'999) / 1'000'000) : -1;
      count = ::epoll_wait(epoll_.get(), events_, kAtOnce, ms);
    }
  }
  if (count < 0) count = 0;
  for (int i = 0; i < count; ++i)
    ready_[i] = {unpacked(events_[i].data.u64), events_[i].events};
  return {ready_, static_cast<std::size_t>(count)};
}

}  // namespace scela::hca
