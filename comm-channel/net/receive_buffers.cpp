#include "comm-channel/net/receive_buffers.h"

#include "common/core/text.h"

namespace scela::channel {

Result<void> ReceiveBuffers::make(std::size_t most) {
  buffers_.emplace(device_.symbols(), device_.pd(), most, IBV_ACCESS_LOCAL_WRITE);
  for (const auto count = flow_.pool(); buffers_->count() < count;) {
    if (auto added = buffers_->add(count); !added) return added;
    while (std::byte* const buffer = buffers_->take())
      if (auto posted = post(buffer); !posted) return posted;
  }
  return {};
}

Result<void> ReceiveBuffers::post(std::byte* buffer) {
  ibv_sge piece{reinterpret_cast<std::uint64_t>(buffer),
                static_cast<std::uint32_t>(buffers_->bytes()), buffers_->key_of(buffer)};
  ibv_recv_wr request{}, *bad = nullptr;
  request.wr_id = reinterpret_cast<std::uint64_t>(buffer);
  request.sg_list = &piece;
  request.num_sge = 1;
  if (const int error = ::ibv_post_srq_recv(device_.srq().get(), &request, &bad); error != 0)
    return fail(verbs::verbs_error("post a receive buffer", device_.device().context.get(), error));
  return {};
}

void ReceiveBuffers::connect(Remote& remote) {
  if (remote.flow.connected() || remote.lost) return;
  const std::uint32_t count = flow_.connect(remote.flow);
  Result<void> good = buffers_->add(count);
  for (std::uint32_t i = 0; i < count && good; ++i)
    good = post(buffers_->take());
  if (!good) ranks_.lose(remote, cat("there is no memory for its messages: ", good.error().text()));
}

// Until the buffer is posted, there is less room than the peers believe; a message that finds none
// is sent again.
void ReceiveBuffers::post_again(std::byte* buffer) {
  if (!post(buffer)) unposted_.push_back(buffer);
}

void ReceiveBuffers::post_those_left() {
  while (!unposted_.empty()) {
    if (auto posted = post(unposted_.back()); !posted) {
      if (health_.lasts(device_.now())) ranks_.lose_device(posted.error().text());
      return;
    }
    unposted_.pop_back();
    health_.over();
  }
}

}  // namespace scela::channel
