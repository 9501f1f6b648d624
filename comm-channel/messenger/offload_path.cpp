#include "comm-channel/messenger/offload_path.h"

#include <optional>

namespace scela::channel {

OffloadPath::OffloadPath(Matcher& matcher, OffloadUser& user, NetworkDevice* device,
                         const ChannelOptions& options, int ranks)
    : matcher_(matcher), user_(user) {
  if (OffloadLink* const link = device != nullptr ? device->offload_link() : nullptr)
    offloader_ = std::make_unique<Offloader>(matcher, user, *device, *link, options, ranks);
}

bool OffloadPath::on_agreement(int rank, const Header& header, std::span<const std::byte> payload) {
  if (offloader_) {
    offloader_->arrived(rank, header, payload);
    return header.kind == Kind::left;
  }
  const auto opening = header.kind == Kind::open ? opening_of(Kind::open, payload) : std::nullopt;
  if (!opening) return false;
  ControlMessage refusal{Kind::opened, 0, 0, opening->agreement, {}};
  refusal.body.count = 0;
  user_.say(rank, refusal, nullptr);
  return false;
}

}  // namespace scela::channel
