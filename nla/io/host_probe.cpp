#include "nla/io/host_probe.h"

#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "common/os/asio.h"
#include "common/os/fd.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;

class ConnectProbe final : public HostProbe {
 public:
  ConnectProbe(boost::asio::io_context& io, const Address& address, std::function<void()> answered)
      : address_(address), answered_(std::move(answered)), io_(io) {}

  void ask() override {
    if (open_ && ++age_ < 2) return;
    Fd made(::socket(address_.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) return;
    const int got = ::connect(made.get(), address_.get(), address_.size);
    if (got != 0 && errno != EINPROGRESS && errno != ECONNREFUSED) return;
    open_.emplace(io_);
    age_ = 0;
    error_code error;
    open_->assign(made.get(), error);
    if (error) return open_.reset();
    static_cast<void>(made.release());
    // An answer that was there at once is seen here too.
    open_->async_wait(Descriptor::wait_write, [this, refused = got != 0 && errno == ECONNREFUSED](
                                                  const error_code& failed) {
      if (failed) return;
      int problem = 0;
      socklen_t size = sizeof problem;
      ::getsockopt(open_->native_handle(), SOL_SOCKET, SO_ERROR, &problem, &size);
      open_.reset();
      if (refused || problem == 0 || problem == ECONNREFUSED) answered_();
    });
  }

 private:
  const Address address_;
  const std::function<void()> answered_;
  boost::asio::io_context& io_;
  std::optional<Descriptor> open_;
  int age_ = 0;
};

}  // namespace

std::unique_ptr<HostProbe> make_host_probe(boost::asio::io_context& io, const Address& address,
                                           std::function<void()> answered) {
  return std::make_unique<ConnectProbe>(io, address, std::move(answered));
}

}  // namespace scela::nla
