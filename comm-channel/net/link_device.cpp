#include "comm-channel/net/link_device.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "comm-channel/core/protocol/stripes.h"
#include "common/os/syscall.h"

namespace scela::channel {

namespace {

constexpr std::uint64_t kUnusedRegistered = std::uint64_t{256} << 20;

}  // namespace

Result<void> LinkDevice::make(int file) {
  const auto into = [](auto& place, auto made) -> Result<void> {
    if (!made) return fail(std::move(made.error()));
    place = std::move(*made);
    return {};
  };
  const verbs::Symbols& symbols = this->symbols();
  Result<void> good = into(pd_, verbs::alloc_pd(symbols, device_.context));
  const std::uint32_t buffers =
      std::min<std::uint32_t>(device_.capability.limits.shared_requests, 4096);
  if (good) good = into(events_, verbs::create_comp_channel(symbols, device_.context));
  // Asynchronous events are read only if one is awaited, and by no call that blocks.
  if (good && ::fcntl(device_.context->async_fd, F_SETFL,
                      ::fcntl(device_.context->async_fd, F_GETFL) | O_NONBLOCK) != 0)
    good = fail(
        os_error(ErrorKind::io, "read the adapter's asynchronous events without waiting", errno));
  if (good)
    good = into(send_cq_, verbs::create_cq(symbols, device_.context,
                                           static_cast<int>(kMaxUnderWay + kMaxPorts), events_));
  if (good)
    good = into(receive_cq_,
                verbs::create_cq(symbols, device_.context, static_cast<int>(buffers), events_));
  if (good && device_.capability.mode == verbs::Mode::xrc) {
    good = into(xrcd_, verbs::open_xrcd(device_.context, file));
    if (good) good = into(srq_, verbs::create_xrc_srq(symbols, pd_, xrcd_, receive_cq_, buffers));
  } else if (good) {
    good = into(srq_, verbs::create_srq(symbols, pd_, buffers));
  }
  if (!good) return good;
  looks_.hold(static_cast<std::uint64_t>(receive_cq_->cqe));
  registrations_ = std::make_unique<verbs::Registrations>(symbols, pd_, kUnusedRegistered);
  max_moved_ = verbs::longest_message(device_.capability.ports);
  return {};
}

}  // namespace scela::channel
