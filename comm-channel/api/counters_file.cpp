#include "comm-channel/api/counters_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "common/core/text.h"
#include "common/os/fd.h"

namespace scela::channel {

namespace {

template <class Of>
struct Figure {
  const char* name;
  std::uint64_t (*value)(const Of&);
};

#define SCELA_FIGURE(of, name)                          \
  {                                                     \
#name, [](const of& values) { return values.name; } \
  }
#define SCELA_PORT(number)                                                                      \
  {                                                                                             \
    "port_bytes_" #number, [](const Counters& values) { return values.port_bytes[number - 1]; } \
  }
constexpr Figure<Counters> kFigures[] = {
    SCELA_FIGURE(Counters, send_queue_pairs),
    SCELA_FIGURE(Counters, receive_queue_pairs),
    SCELA_FIGURE(Counters, connections),
    SCELA_FIGURE(Counters, max_queue_pairs),
    SCELA_FIGURE(Counters, max_connections),
    SCELA_FIGURE(Counters, receive_buffers),
    SCELA_FIGURE(Counters, registered_bytes),
    SCELA_FIGURE(Counters, shared_bytes),
    SCELA_FIGURE(Counters, messages_sent),
    SCELA_FIGURE(Counters, messages_received),
    SCELA_FIGURE(Counters, bytes_sent),
    SCELA_FIGURE(Counters, bytes_received),
    SCELA_FIGURE(Counters, unexpected),
    SCELA_FIGURE(Counters, max_unexpected),
    SCELA_FIGURE(Counters, rnr_events),
    SCELA_FIGURE(Counters, credit_waits),
    SCELA_FIGURE(Counters, resent),
    SCELA_FIGURE(Counters, handshakes_repeated),
    SCELA_FIGURE(Counters, handshakes_ignored),
    SCELA_FIGURE(Counters, sleeps),
    SCELA_FIGURE(Counters, sleeps_woken),
    SCELA_FIGURE(Counters, offload_queue_pairs),
    SCELA_FIGURE(Counters, max_offload_queue_pairs),
    SCELA_FIGURE(Counters, offloaded),
    SCELA_FIGURE(Counters, ports),
    SCELA_PORT(1),
    SCELA_PORT(2),
    SCELA_PORT(3),
    SCELA_PORT(4),
};
constexpr Figure<PeerCounters> kPeerFigures[] = {
    SCELA_FIGURE(PeerCounters, messages_sent), SCELA_FIGURE(PeerCounters, messages_received),
    SCELA_FIGURE(PeerCounters, bytes_sent), SCELA_FIGURE(PeerCounters, bytes_received)};
#undef SCELA_PORT
#undef SCELA_FIGURE
static_assert(sizeof(Counters) == std::size(kFigures) * sizeof(std::uint64_t),
              "scela-run --stats shows every figure: name it above");

// The launcher takes twice as many bytes of a rank (nla/ranks/rank_counter_files.h).
constexpr std::size_t kMaxOfPeers = std::size_t{7} * 1024;

template <class Of, std::size_t Count>
std::string object_of(const Of& values, const Figure<Of> (&figures)[Count]) {
  std::string text;
  for (const Figure<Of>& figure : figures)
    text += cat(text.empty() ? "{\"" : ",\"", figure.name, "\":", figure.value(values));
  return text + "}";
}

std::string text_of_peers(std::span<const PeerCounters> peers) {
  std::vector<std::size_t> order;
  for (std::size_t rank = 0; rank < peers.size(); ++rank)
    if (peers[rank].messages_sent + peers[rank].messages_received != 0) order.push_back(rank);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t rank) {
    return peers[rank].bytes_sent + peers[rank].bytes_received;
  });
  std::string text;
  for (const std::size_t rank : order) {
    if (text.size() >= kMaxOfPeers) break;
    text += cat(text.empty() ? "" : ",", "\"", rank, "\":", object_of(peers[rank], kPeerFigures));
  }
  return text;
}

}  // namespace

std::string counters_text(const Counters& counters, std::span<const PeerCounters> peers) {
  std::string text = cat("channel ", object_of(counters, kFigures));
  text.pop_back();
  return cat(text, ",\"peers\":{", text_of_peers(peers), "}}\n");
}

void write_counters(const Counters& counters, std::span<const PeerCounters> peers) {
  const char* const path = std::getenv("SCELA_COUNTERS");
  if (path == nullptr || *path != '/') return;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const Fd file(::open(path, kFlags | O_NOCTTY, 0600));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const std::string text = counters_text(counters, peers);
  [[maybe_unused]] const auto written = ::write(file.get(), text.data(), text.size());
}

}  // namespace scela::channel
