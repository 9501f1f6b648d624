#include <poll.h>
#include <sys/socket.h>

#include <utility>

#include "common/os/asio.h"
#include "common/os/syscall.h"
#include "nla/io/transport.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;

class FdTransport final : public Transport {
 public:
  FdTransport(boost::asio::io_context& io, Fd in, Fd out) : in_(io), out_(io) {
    open(in_, std::move(in));
    if (out) {
      open(out_, std::move(out));
      two_ = true;
    }
  }

  ssize_t read(char* bytes, std::size_t size) override {
    if (refused_ != 0) return fail_with(refused_);
    return retry([&] { return ::read(in_.native_handle(), bytes, size); });
  }
  ssize_t write(const iovec* parts, int count) override {
    if (refused_ != 0) return fail_with(refused_);
    if (two_ && !out_.is_open()) return fail_with(EPIPE);
    return retry([&] { return ::writev(writer().native_handle(), parts, count); });
  }

  void wait_readable(Handler handler) override {
    if (refused_ != 0) return later(std::move(handler));
    in_.async_wait(Descriptor::wait_read, [handler = std::move(handler)](const error_code& error) {
      if (!error) handler();
    });
  }
  void wait_writable(Handler handler) override {
    if (refused_ != 0) return later(std::move(handler));
    writer().async_wait(Descriptor::wait_write,
                        [handler = std::move(handler)](const error_code& error) {
                          if (!error) handler();
                        });
  }
  void wait_closed(Handler handler) override {
    // The handler must not be called from within the caller's turn.
    if (refused_ != 0 || peer_has_closed()) return later(std::move(handler));
    in_.async_wait(Descriptor::wait_error,
                   [this, handler = std::move(handler)](const error_code& error) mutable {
                     if (!error) wait_closed(std::move(handler));
                   });
  }

  void end_writing() override {
    error_code ignored;
    if (two_) {
      out_.close(ignored);
    } else if (in_.is_open()) {
      ::shutdown(in_.native_handle(), SHUT_WR);
    }
  }
  void close() override {
    error_code ignored;
    in_.close(ignored);
    out_.close(ignored);
    *alive_ = false;
  }
  bool is_open() const override { return in_.is_open() || refused_ != 0; }

 private:
  // If the system refuses to watch a descriptor, it counts as a stream that breaks at once.
  void open(Descriptor& descriptor, Fd fd) {
    error_code error;
    descriptor.assign(fd.get(), error);
    if (error) {
      refused_ = error.value();
      return;
    }
    static_cast<void>(fd.release());
    descriptor.non_blocking(true, error);
  }
  Descriptor& writer() { return two_ ? out_ : in_; }

  static ssize_t fail_with(int number) {
    errno = number;
    return -1;
  }
  void later(Handler handler) {
    boost::asio::post(in_.get_executor(), [alive = alive_, handler = std::move(handler)] {
      if (*alive) handler();
    });
  }
  bool peer_has_closed() {
    pollfd asked{in_.native_handle(), 0, 0};
    return ::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  }

  Descriptor in_;
  Descriptor out_;
  bool two_ = false;
  int refused_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

 public:
  ~FdTransport() override { *alive_ = false; }
};

}  // namespace

std::unique_ptr<Transport> make_fd_transport(boost::asio::io_context& io, Fd stream) {
  return std::make_unique<FdTransport>(io, std::move(stream), Fd());
}

std::unique_ptr<Transport> make_pipe_transport(boost::asio::io_context& io, Fd in, Fd out) {
  return std::make_unique<FdTransport>(io, std::move(in), std::move(out));
}

}  // namespace scela::nla
