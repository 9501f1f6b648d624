#include "comm-channel/engine/transports.h"

#include <string>
#include <utility>

#include "comm-channel/engine/error_words.h"
#include "common/core/text.h"

namespace scela::channel {

Transports::Transports(Peers& peers, std::unique_ptr<shm::NodeLink> node,
                       std::unique_ptr<Network> network)
    : peers_(peers), node_(std::move(node)), network_(std::move(network)) {}

Status Transports::error_of_end(int rank) const {
  const std::string& why = peers_.why_lost(rank);
  // A rank that cannot be reached for long has ended, as far as this process can tell.
  const bool is_own_fault = !peers_.is_local(rank) && network_ && !network_->works();
  return error_of(is_own_fault ? Code::device : Code::peer_ended, rank,
                  why.empty() ? cat("rank ", rank, " has ended") : cat("rank ", rank, ": ", why));
}

void Transports::close() {
  is_closed_ = true;
  peers_.leave_node();
  network_.reset();
  node_.reset();
}

void Transports::add_counters(Counters& counters) const {
  if (node_) {
    counters.shared_bytes = node_->shared_bytes();
    counters.sleeps = node_->sleeping().sleeps();
    counters.sleeps_woken = node_->sleeping().sleeps_woken();
  }
  if (network_) network_->add_counters(counters);
}

}  // namespace scela::channel
