// One communicator's operations on an adapter: its queues, the peers that they are connected with,
// and the runs that are posted to them, in the order in which they were started.
//
// Peers are connected when a list first speaks with them, by messages of the transport: each tells
// the other of its queues, and then that it is ready. From then on a receive waits for a note of
// the peer's. It fails if the peer ends; and who breaks off tells all peers whose fault it was.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/core/offload.h"
#include "collectives/executors/factory.h"
#include "collectives/offload/queue_set.h"
#include "collectives/offload/templates.h"

namespace scela::collectives {

// What ranks say to each other. All bytes are set.
struct EngineWord {
  std::uint64_t magic = 0;
  std::int32_t rank = -1;  // of a fault: whose; the transport's number
  std::uint8_t is_fault = 0;
  std::uint8_t code = 0;
  std::uint8_t mtu = 0;
  std::uint8_t refusal = 0;  // of a fault: Refusal
  std::uint32_t out = 0, in = 0, tell = 0, first_packet = 0;
  std::uint16_t lid = 0;
  std::uint8_t unused_too[6] = {};
  std::array<std::uint8_t, 16> gid{};
};

// Messages that nobody waits for, until they have gone.
class Parting {
 public:
  explicit Parting(Transport& transport) : transport_(transport) {}
  Parting(const Parting&) = delete;
  Parting& operator=(const Parting&) = delete;
  ~Parting();
  void send(int peer, Route route, const EngineWord& word);
  void sweep();

 private:
  struct Message {
    Transport::Ticket ticket = 0;
    std::unique_ptr<EngineWord> word;
  };
  Transport& transport_;
  std::vector<Message> messages_;
};

class OffloadGroup {
 public:
  OffloadGroup(Adapter& adapter, Transport& transport, Parting& parting, ContextId context);
  OffloadGroup(const OffloadGroup&) = delete;
  OffloadGroup& operator=(const OffloadGroup&) = delete;
  ~OffloadGroup();

  void start(Run& run);
  // Connects, posts and ends what can be. Whether a run has ended.
  bool advance();
  // Looks for what has gone wrong, with whom.
  void look();
  // Nothing of its runs is on the adapter any more; all fail, here and at those that need them.
  void cancel(Run& run, Fault why);
  // The same of all, also of those that are started later. Its rank is the transport's.
  void give_up(Fault why);

  // What all ranks of the context have to be told, and these ranks: once, after this rank has found
  // that one was called otherwise than others. It may speak with fewer ranks than the others do.
  std::optional<GivenUp> word_to_all();
  std::span<const int> ranks() const { return ranks_; }

  // That others wait behind; null: none.
  Run* first() const { return runs_.empty() ? nullptr : runs_.front()->run; }

  bool has(const Run& run) const;
  bool empty() const { return runs_.empty(); }
  PostedRuns posted() const { return posted_; }
  std::size_t queue_pairs() const { return queues_ ? queues_->queue_pairs() : 0; }
  // Whether the first run waits for messages of the transport: these.
  bool connects(std::vector<Transport::Ticket>& tickets) const;
  void arm() {
    if (queues_) queues_->arm();
  }
  bool is_forgotten = false;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Stage : std::uint8_t { unknown, greeting, readying, up };
  struct Peer {
    Stage stage = Stage::unknown;
    bool sends = false, receives = false;  // tickets that are under way
    Transport::Ticket sent = 0, received = 0;
    EngineWord to, from;
    bool watches = false;
    Transport::Ticket watch = 0;
    EngineWord note;
    std::shared_ptr<const Fault> ended;
  };
  enum class Late : std::uint8_t { connecting, full };
  // Those that are over give their memory to those that come.
  struct Started {
    Run* run = nullptr;
    std::shared_ptr<const OffloadTemplate> made;
    std::size_t posted = 0;  // of its tasks; one more: its end
    std::uint64_t last = 0;  // task of the queue: its end
    std::vector<std::uint64_t> signals;
    std::size_t passed = 0;  // of them
    Late late = Late::full;  // why it was not posted whole the last time
    // When it was started peers were not connected; its queues did not hold all of it.
    bool connected_late = false, in_parts = false;
    std::byte* memory[4] = {};  // by OffloadPlace::Memory
    channel::verbs::Registration registered[4];
    const OffloadPlan& plan() const { return made->plan; }
  };

  bool connect(const Started& started);
  bool connect(int rank, Peer& peer);
  void greet(int rank, Peer& peer);
  void say(int rank, Peer& peer, const EngineWord& word);
  bool heard(int rank, Peer& peer);
  bool post(Started& started);
  bool post_next(Started& started);
  void put_off(Started& started, Late why);
  void put_off_behind(std::size_t first);
  bool cannot_post(const Error& why);
  Result<void> register_memory(Started& started);
  bool finish();
  void drop_first();
  void suspect(const QueueSet::Trouble& trouble);
  bool learn(int rank, Peer& peer);

  void break_off(Fault why);
  void end_all();
  bool is_of_dead(int rank) const;
  Fault fault_for(const Run& run) const;
  int transport_rank(const Run& run, int peer) const;
  Route route(bool watch) const;

  Adapter& adapter_;
  Transport& transport_;
  Parting& parting_;
  const ContextId context_;
  std::unique_ptr<QueueSet> queues_;
  std::map<int, Peer> peers_;  // by rank of the transport
  OffloadTemplates templates_;
  std::vector<std::unique_ptr<Started>> runs_;  // in their order
  std::vector<std::unique_ptr<Started>> spare_;
  PostedRuns posted_;
  std::optional<Clock::time_point> suspected_;
  std::vector<int> ranks_;  // the transport's, of all of the communicator
  bool told_all_ = false;
  std::optional<Fault> broken_;  // ranks are the transport's, or -1: this one
};

}  // namespace scela::collectives
