// The state that RankPmi's files share: the connections, the port, and the memory that replaces
// connections. Private to them; used on the shell's loop only.
#pragma once

#include <sys/types.h>

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/core/chunk.h"
#include "common/os/alarm.h"
#include "common/os/asio.h"
#include "common/os/sealed_memory.h"
#include "nla/ranks/rank_listener.h"
#include "nla/ranks/rank_pmi.h"
#include "pmi/protocol/ring.h"
#include "pmi/protocol/use_notes.h"

namespace scela::nla {

struct RankPmi::Connection {
  Connection(EndListener& listener, Rank rank, std::unique_ptr<pmi::RankServer> serves)
      : end{listener, rank, 3}, server(std::move(serves)) {}
  RankEnd end;
  std::unique_ptr<pmi::RankServer> server;
  std::deque<Chunk> output;
  std::size_t output_bytes = 0;
  std::size_t offset = 0;    // written bytes of the output's front
  pid_t process = 0;         // of the rank
  bool handed_over = false;  // the segment was offered
  // Descriptors of memory that are sent with the next byte of output.
  std::vector<int> hand_over;  // borrowed
  pid_t sender = 0;            // last writer's pid, once `asks_sender`
  bool asks_sender = false;
  struct Ring {
    Ring(SealedMemory mapped, std::uint64_t agent)
        : memory(std::move(mapped)),
          end(pmi::ring::SharedMemory(memory.base()), agent),
          uses(memory.base()) {}
    SealedMemory memory;
    pmi::ring::ServerEnd end;
    pmi::ring::UseNotes uses;
    bool in_use = false;  // the rank has taken it
    bool spoilt = false;  // holds nonsense; not read any more
  };
  std::optional<Ring> ring;
  struct Asked {
    const char* name = nullptr;  // name in the trace
    std::uint64_t since_ns = 0;
  };
  std::map<pmi::RequestId, Asked> asked;  // not answered yet
};

struct RankPmi::Port {
  std::function<pid_t(Rank)> process;  // 0: the rank does not run
  std::unique_ptr<RankListener> listener;
  std::list<Alarm> timers;  // of doubt()
  RankSet doubted;          // their verdict is delayed
};

// A doorbell that ranks with memory ring after writing there. All of them share one, since
// descriptors are counted.
struct RankPmi::Doorbell final : Poller::Watcher {
  explicit Doorbell(RankPmi& told) : pmi(told) {}
  void ready(bool readable, bool writable) override;
  // Makes the loop call ready() in a later turn. Does not block.
  void ring() const;
  RankPmi& pmi;
  Fd fd;  // an eventfd
};

}  // namespace scela::nla
