#include "launcher/io/watched.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "common/os/fd.h"

namespace scela {

namespace asio = boost::asio;

struct Watched::State {
  State(asio::io_context& io, int number) : descriptor(io), fd(number) {}

  // Asio accepts descriptors that epoll refuses, and then fails every wait.
  bool can_be_watched() const {
    const Fd probe(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event nothing{};
    return ::epoll_ctl(probe.get(), EPOLL_CTL_ADD, fd, &nothing) == 0;
  }

  void wait(asio::posix::stream_descriptor::wait_type what, std::function<void()> handler) {
    waiting = true;
    descriptor.async_wait(
        what, [this, handler = std::move(handler)](const boost::system::error_code& error) {
          waiting = false;
          if (!error) handler();
        });
  }

  asio::posix::stream_descriptor descriptor;
  int fd;
  bool waiting = false;
};

Watched::Watched(asio::io_context& io, int fd) : state_(std::make_unique<State>(io, fd)) {}
Watched::~Watched() = default;

bool Watched::open() {
  if (state_->descriptor.is_open()) return true;
  if (!state_->can_be_watched()) return false;
  const int copy = ::fcntl(state_->fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return false;
  boost::system::error_code error;
  state_->descriptor.assign(copy, error);
  if (!error) return true;
  ::close(copy);
  return false;
}

void Watched::wait_readable(std::function<void()> handler) {
  state_->wait(asio::posix::stream_descriptor::wait_read, std::move(handler));
}

void Watched::wait_writable(std::function<void()> handler) {
  state_->wait(asio::posix::stream_descriptor::wait_write, std::move(handler));
}

bool Watched::waiting() const {
  return state_->waiting;
}

void Watched::close() {
  boost::system::error_code ignored;
  state_->descriptor.close(ignored);
}

}  // namespace scela
