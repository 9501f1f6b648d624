// Opens the links from a rank to the other ranks of its node and to other nodes, and makes a
// channel over them. channel.cpp uses it.
#pragma once

#include <functional>
#include <memory>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/shm/factory.h"

namespace scela::channel {

struct Links {
  std::unique_ptr<shm::NodeLink> node;   // null: no other ranks on this node
  std::unique_ptr<Network> network;      // null: there are no other nodes
  std::function<bool(int rank)> failed;  // whether the launcher says so
  // Asks the launcher whether it knows by now that the rank has ended, in failure or well.
  std::function<bool(int rank)> left{};
};

// All ranks of the job call it, and it blocks until all have called it. If one rank fails, all
// ranks of its node get an error. The bootstrap must outlive the result. One rank of the node
// reports on standard error if something works, but not as well as it could.
Result<Links> open_links(Bootstrap& bootstrap, const ChannelOptions& options);

// Makes a channel over existing links, without a launcher. The ranks may be threads of one process.
std::unique_ptr<Channel> channel_over(World world, const ChannelOptions& options, Links links);

}  // namespace scela::channel
