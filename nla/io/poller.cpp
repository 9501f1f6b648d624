#include "nla/io/poller.h"

#include <sys/epoll.h>

#include <cerrno>

#include "common/os/syscall.h"

namespace scela::nla {

namespace {

epoll_event interest(bool read, bool write, Poller::Watcher& watcher) {
  epoll_event event{};
  event.events = (read ? unsigned{EPOLLIN} : 0U) | (write ? unsigned{EPOLLOUT} : 0U);
  event.data.ptr = &watcher;
  return event;
}

}  // namespace

Result<Poller> Poller::create() {
  Fd set(::epoll_create1(EPOLL_CLOEXEC));
  if (!set) {
    const int number = errno;
    return fail(os_error(ErrorKind::internal, "watch descriptors", number,
                         std::string(limit_advice(number))));
  }
  return Poller(std::move(set));
}

void Poller::watch(int fd, bool read, bool write, Watcher& watcher) {
  epoll_event event = interest(read, write, watcher);
  ::epoll_ctl(set_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Poller::change(int fd, bool read, bool write, Watcher& watcher) {
  epoll_event event = interest(read, write, watcher);
  ::epoll_ctl(set_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Poller::forget(int fd) {
  ::epoll_ctl(set_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

bool Poller::dispatch() {
  epoll_event events[kBatch];
  const int ready = ::epoll_wait(set_.get(), events, kBatch, 0);
  for (int i = 0; i < ready; ++i) {
    const std::uint32_t what = events[i].events;
    static_cast<Watcher*>(events[i].data.ptr)
        ->ready((what & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0,
                (what & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0);
  }
  return ready == kBatch;
}

}  // namespace scela::nla
