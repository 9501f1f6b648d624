// The links that a rank opens to the others of its node, and to other nodes; and its channel over
// them.
#pragma once

#include <functional>
#include <memory>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/network.h"
#include "comm-channel/shm/factory.h"

namespace scela::channel {

struct Links {
  std::unique_ptr<shm::NodeLink> node;   // none: there is nobody else on this node
  std::unique_ptr<Network> network;      // none: there are no other nodes
  std::function<bool(int rank)> failed;  // whether the launcher says so, of any rank
  // Whether it knows by now, if it is asked, that the rank has ended, also well.
  std::function<bool(int rank)> left{};
};

// All ranks of the job call it, and it returns when all have. One that fails is an error on all
// ranks of its node. The bootstrap outlives what it returns. What works, but not as well as it
// could, is said on standard error by one rank of the node.
Result<Links> open_links(Bootstrap& bootstrap, const Options& options);

// By links that there are already, of a process that no launcher has told where it is: ranks may be
// threads of one.
std::unique_ptr<Channel> channel_over(World world, const Options& options, Links links);

}  // namespace scela::channel
