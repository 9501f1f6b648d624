#include "comm-channel/api/account_file.h"

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
  std::uint64_t Of::*value;
};

#define SCELA_FIGURE(of, name) \
  { #name, &of::name }
constexpr Figure<Accounts> kFigures[] = {SCELA_FIGURE(Accounts, send_queue_pairs),
                                         SCELA_FIGURE(Accounts, receive_queue_pairs),
                                         SCELA_FIGURE(Accounts, connections),
                                         SCELA_FIGURE(Accounts, max_queue_pairs),
                                         SCELA_FIGURE(Accounts, max_connections),
                                         SCELA_FIGURE(Accounts, receive_buffers),
                                         SCELA_FIGURE(Accounts, registered),
                                         SCELA_FIGURE(Accounts, shared),
                                         SCELA_FIGURE(Accounts, messages_sent),
                                         SCELA_FIGURE(Accounts, messages_received),
                                         SCELA_FIGURE(Accounts, sent),
                                         SCELA_FIGURE(Accounts, received),
                                         SCELA_FIGURE(Accounts, unexpected),
                                         SCELA_FIGURE(Accounts, max_unexpected),
                                         SCELA_FIGURE(Accounts, rnr_events),
                                         SCELA_FIGURE(Accounts, credit_waits),
                                         SCELA_FIGURE(Accounts, resent),
                                         SCELA_FIGURE(Accounts, handshake_repeats),
                                         SCELA_FIGURE(Accounts, handshake_unheard),
                                         SCELA_FIGURE(Accounts, sleeps),
                                         SCELA_FIGURE(Accounts, sleeps_woken),
                                         SCELA_FIGURE(Accounts, offload_queue_pairs),
                                         SCELA_FIGURE(Accounts, max_offload_queue_pairs),
                                         SCELA_FIGURE(Accounts, offloaded),
                                         SCELA_FIGURE(Accounts, ports),
                                         SCELA_FIGURE(Accounts, by_port_1),
                                         SCELA_FIGURE(Accounts, by_port_2),
                                         SCELA_FIGURE(Accounts, by_port_3),
                                         SCELA_FIGURE(Accounts, by_port_4)};
constexpr Figure<PeerAccounts> kPeerFigures[] = {
    SCELA_FIGURE(PeerAccounts, messages_sent), SCELA_FIGURE(PeerAccounts, messages_received),
    SCELA_FIGURE(PeerAccounts, sent), SCELA_FIGURE(PeerAccounts, received)};
#undef SCELA_FIGURE
static_assert(sizeof(Accounts) == std::size(kFigures) * sizeof(std::uint64_t),
              "scela-run --stats shows every figure: name it above");

// The launcher takes twice as many bytes of a rank (nla/ranks/accounts.h).
constexpr std::size_t kMaxOfPeers = std::size_t{7} * 1024;

template <class Of, std::size_t Count>
std::string object_of(const Of& values, const Figure<Of> (&figures)[Count]) {
  std::string text;
  for (const Figure<Of>& figure : figures)
    text += cat(text.empty() ? "{\"" : ",\"", figure.name, "\":", values.*figure.value);
  return text + "}";
}

std::string text_of_peers(std::span<const PeerAccounts> peers) {
  std::vector<std::size_t> order;
  for (std::size_t rank = 0; rank < peers.size(); ++rank)
    if (peers[rank].messages_sent + peers[rank].messages_received != 0) order.push_back(rank);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t rank) {
    return peers[rank].sent + peers[rank].received;
  });
  std::string text;
  for (const std::size_t rank : order) {
    if (text.size() >= kMaxOfPeers) break;
    text += cat(text.empty() ? "" : ",", "\"", rank, "\":", object_of(peers[rank], kPeerFigures));
  }
  return text;
}

}  // namespace

std::string account_text(const Accounts& accounts, std::span<const PeerAccounts> peers) {
  std::string text = cat("channel ", object_of(accounts, kFigures));
  text.pop_back();
  return cat(text, ",\"peers\":{", text_of_peers(peers), "}}\n");
}

void leave_account(const Accounts& accounts, std::span<const PeerAccounts> peers) {
  const char* const path = std::getenv("SCELA_ACCOUNTS");
  if (path == nullptr || *path != '/') return;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const Fd file(::open(path, kFlags | O_NOCTTY, 0600));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const std::string text = account_text(accounts, peers);
  [[maybe_unused]] const auto written = ::write(file.get(), text.data(), text.size());
}

}  // namespace scela::channel
