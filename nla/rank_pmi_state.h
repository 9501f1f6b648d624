// What RankPmi's two files share: the connections, and those that come by the port. Private to
// them.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>

#include "common/core/chunk.h"
#include "common/os/asio.h"
#include "nla/rank_door.h"
#include "nla/rank_pmi.h"

namespace scela::nla {

struct RankPmi::Connection {
  Connection(EndListener& listener, Rank rank, std::unique_ptr<pmi::RankServer> serves)
      : end{listener, rank, 3}, server(std::move(serves)) {}
  RankEnd end;
  std::unique_ptr<pmi::RankServer> server;
  std::deque<Chunk> output;
  std::size_t output_bytes = 0;
  std::size_t offset = 0;  // of the output's front, written already
  bool handed_over = false;
  int hand_over = -1;  // a descriptor that goes with the next byte; borrowed
  struct Asked {
    const char* name = nullptr;  // in the trace
    std::uint64_t since_ns = 0;
  };
  std::map<pmi::RequestId, Asked> asked;  // and not answered
};

struct RankPmi::Port {
  std::function<pid_t(Rank)> process;
  std::unique_ptr<RankDoor> door;
  std::list<boost::asio::steady_timer> timers;  // of doubt()
  RankSet doubted;
};

}  // namespace scela::nla
