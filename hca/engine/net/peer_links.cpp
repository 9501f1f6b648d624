#include "hca/engine/net/peer_links.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "common/os/clock.h"

namespace scela::hca {

namespace {
constexpr int kReadsAtEnd = 64;
constexpr std::uint64_t kFinishNs = 1'000'000'000;
}  // namespace

std::uint32_t PeerLinks::add(PeerLink link, std::uint32_t events) {
  const std::uint32_t id = next_++;
  if (!poller_->add(link.descriptor(), events, tag_of(id))) return 0;
  links_.emplace(id, std::move(link));
  return id;
}

bool PeerLinks::remove(std::uint32_t id) {
  const auto found = links_.find(id);
  if (found == links_.end()) return false;
  poller_->remove(found->second.descriptor());
  links_.erase(found);
  return true;
}

void PeerLinks::finish(const std::function<Outbox&(std::uint32_t node)>& outbox_of) {
  const std::uint64_t until = monotonic_ns() + kFinishNs;
  std::erase_if(links_, [](const auto& link) { return !link.second.is_established(); });
  while (monotonic_ns() < until) {
    std::vector<pollfd> waits;
    std::vector<std::uint32_t> ids;
    for (auto& [id, link] : links_) {
      Outbox& outbox = outbox_of(link.node());
      if (!link.send(outbox, {}, {})) continue;
      const bool over = link.has_sent_all(outbox);
      if (over) link.shut();
      ids.push_back(id);
      waits.push_back({link.descriptor(), static_cast<short>(over ? POLLIN : POLLIN | POLLOUT), 0});
    }
    if (waits.empty()) return;
    static_cast<void>(::poll(waits.data(), waits.size(), 100));
    // Incoming data is not looked at, but it must be read. Otherwise the other end would not get
    // what was sent last.
    for (std::size_t i = 0; i < ids.size(); ++i) {
      char bytes[4096];
      ssize_t got = 0;
      // The number of reads is limited: an end that keeps sending has its turn, and is left when
      // the time is over.
      int reads = 0;
      while (reads < kReadsAtEnd && (got = ::recv(waits[i].fd, bytes, sizeof bytes, 0)) > 0)
        ++reads;
      if (got == 0 || (got < 0 && errno != EAGAIN)) links_.erase(ids[i]);
    }
  }
}

}  // namespace scela::hca
