// An OffloadGroup has one communicator's operations on an adapter: its queues, its connected peers,
// and its runs in the order in which they were started. The engine executor uses it. Two threads
// must not use it at once. A run is this rank's part of one operation
// (collectives/executors/run/run.h).
//
// A peer is connected when a list first has it, by messages of the transport. Each rank sends the
// other the attributes of its queues, and then that it is ready. From then on, a receive waits for
// a note from the peer, which names a rank at fault. The receive fails if the peer ends.
//
// To break off means: the first fault is recorded, the queues are destroyed, all runs fail with the
// fault, and notes of it go to all peers. Nothing more can be done by this group. Ranks are
// numbered as in the transport.
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

// A message between two ranks: the attributes of the sender's queues, that it is ready, or a fault.
// The struct has no padding, so that all its bytes are set.
struct EngineWord {
  std::uint64_t magic = 0;                                    // marks such messages
  std::int32_t rank = -1;                                     // of a fault: the rank at fault
  std::uint8_t is_fault = 0;                                  // 1: a fault
  std::uint8_t code = 0;                                      // of a fault: a FaultCode
  std::uint8_t mtu = 0;                                       // as in QueueEnd
  std::uint8_t refusal = 0;                                   // of a fault: a Refusal
  std::uint32_t out = 0, in = 0, tell = 0, first_packet = 0;  // as in QueueEnd
  std::uint16_t lid = 0;
  std::uint8_t unused_too[6] = {};
  std::array<std::uint8_t, 16> gid{};
};

// Keeps the buffers of messages for which no caller waits, until they have been sent. Two threads
// must not use it at once.
class Parting {
 public:
  // The transport must outlive the object.
  explicit Parting(Transport& transport) : transport_(transport) {}
  Parting(const Parting&) = delete;
  Parting& operator=(const Parting&) = delete;
  // Cancels the messages that have not been sent.
  ~Parting();
  // Sends a copy of the word to the rank `peer`, and returns at once.
  void send(int peer, Route route, const EngineWord& word);
  // Frees the buffers of messages that have been sent. It must be called now and then.
  void sweep();

 private:
  // A message under way, and its buffer.
  struct Message {
    Transport::Ticket ticket = 0;
    std::unique_ptr<EngineWord> word;
  };
  Transport& transport_;
  std::vector<Message> messages_;
};

class OffloadGroup {
 public:
  // `context` is the communicator's. The adapter, the transport and `parting` must outlive the
  // group.
  OffloadGroup(Adapter& adapter, Transport& transport, Parting& parting, ContextId context);
  OffloadGroup(const OffloadGroup&) = delete;
  OffloadGroup& operator=(const OffloadGroup&) = delete;
  // All runs must be over.
  ~OffloadGroup();

  // Starts a run that is bound, after those that were started before. The run belongs to the group
  // until it is over, which it may be on return. Does not block.
  void start(Run& run);
  // Connects peers, posts runs, and ends runs that are over, as far as possible. Returns true if a
  // run has ended. Does not block.
  bool advance();
  // Looks for faults: notes, peers that have ended, and failed requests. If one concerns a run of
  // the group, breaks off.
  void look();
  // Breaks off with the fault `why` because this run of the group is cancelled; does nothing if the
  // group does not have it. The runs end in the next advance(), after which the adapter executes
  // none of them any more.
  void cancel(Run& run, Fault why);
  // Breaks off because the context is given up. All runs fail with `why`, later ones included.
  void give_up(Fault why);

  // Returns, once, the notice that the context is given up, if this rank has found that a rank's
  // call differs. The caller sends it to all ranks(), since this group may exchange messages with
  // fewer ranks than others do.
  std::optional<AbortedContext> word_to_all();
  // Returns all ranks of the communicator; empty before the first run.
  std::span<const int> ranks() const { return ranks_; }

  // Returns the run that was started first and is not over, or null.
  Run* first() const { return runs_.empty() ? nullptr : runs_.front()->run; }

  // Returns true if the run was started here and is not over.
  bool has(const Run& run) const;
  // Returns true if no run was started that is not over.
  bool empty() const { return runs_.empty(); }
  // Returns how many runs were started, and how many were not posted whole at their start.
  PostedRuns posted() const { return posted_; }
  // Returns the number of queue pairs that the group has now (QueueSet::queue_pairs).
  std::size_t queue_pairs() const { return queues_ ? queues_->queue_pairs() : 0; }
  // Appends the transport's messages by which peers are being connected. Returns true if it has
  // appended any.
  bool connects(std::vector<Transport::Ticket>& tickets) const;
  // Requests an event for the next completion of a task (QueueSet::arm).
  void arm() {
    if (queues_) queues_->arm();
  }
  // Set by the executor once no more runs of this context are started.
  bool is_forgotten = false;

 private:
  using Clock = std::chrono::steady_clock;
  // The states of a peer's connection. `unknown`: this rank has not sent it a message. `greeting`:
  // this rank has sent its queues, and waits for the peer's. `readying`: it has connected them and
  // said so, and waits for the peer's word of that. `up`: the peer is connected.
  enum class Stage : std::uint8_t { unknown, greeting, readying, up };
  struct Peer {
    Stage stage = Stage::unknown;
    bool sends = false, receives = false;      // which of these two are under way
    Transport::Ticket sent = 0, received = 0;  // messages that connect the peer
    EngineWord to, from;                       // buffers of these two messages
    bool watches = false;                      // a receive of a note is under way
    Transport::Ticket watch = 0;               // ticket of that receive
    EngineWord note;                           // its buffer
    std::shared_ptr<const Fault> ended;        // set if the peer has ended
  };
  // Says why a run was not posted whole: a peer was not connected, or the queues were full.
  enum class Late : std::uint8_t { connecting, full };
  // A run that was started. Entries of runs that are over are kept for later ones.
  struct Started {
    Run* run = nullptr;
    std::shared_ptr<const OffloadTemplate> made;
    std::size_t posted = 0;  // tasks posted, and one for the end
    std::uint64_t last = 0;  // task that ends it; 0: not posted
    // The numbers of its signal tasks that were posted.
    std::vector<std::uint64_t> signals;
    std::size_t passed = 0;  // how many of these are over
    Late late = Late::full;  // why it was last not posted whole
    // Says for each of the two reasons that it has been counted for this run.
    bool connected_late = false, in_parts = false;
    std::byte* memory[4] = {};  // by OffloadPlace::Memory: addresses
    // The registrations of these.
    channel::verbs::Registration registered[4];
    const OffloadPlan& plan() const { return made->plan; }
  };

  // Takes the next steps to connect the peers of a run. Returns true if all of them are connected.
  // If false, the caller tries again later, unless the group has broken off.
  bool connect(const Started& started);
  // Takes the next steps to connect one peer, in the same way.
  bool connect(int rank, Peer& peer);
  // Makes the queues to a peer and sends it their attributes. If that fails, breaks off.
  void greet(int rank, Peer& peer);
  // Sends a message to the peer, and posts the receive of its answer.
  void say(int rank, Peer& peer, const EngineWord& word);
  // Returns true if the last message of say() has been sent and the answer is here. If false, one
  // of them is under way, or the group has broken off.
  bool heard(int rank, Peer& peer);
  // Posts as many tasks of the run as possible. Returns true if all of it is posted.
  bool post(Started& started);
  // Posts the next task. Returns false if there is no room, or if the group has broken off.
  bool post_next(Started& started);
  // Counts, once for each reason, that a run was not posted whole at its start.
  void put_off(Started& started, Late why);
  // Counts the same for all runs behind index `first` of runs_, with that run's reason.
  void put_off_behind(std::size_t first);
  // Breaks off because posting has failed with the error `why`. Returns false always, for its
  // callers to return.
  bool cannot_post(const Error& why);
  // Registers the run's buffers with the adapter, and reserves its staging memory.
  Result<void> register_memory(Started& started);
  // Ends the runs that are over, in order. Returns true if a run has ended or the group has broken
  // off.
  bool finish();
  // Removes the first entry of runs_, and keeps it for a later run.
  void drop_first();
  // Handles a failure that completions have shown. Breaks off at once if the cause is clear.
  // Otherwise a note or an end may still name the rank at fault: the group breaks off in a call
  // that comes three seconds later.
  void suspect(const QueueSet::PeerFailure& trouble);
  // Looks for a note from a peer, or for its end. Returns false if there is neither. For a note it
  // breaks off; for an end it only sets peer.ended.
  bool learn(int rank, Peer& peer);

  // Records the first fault and sends notes of it to the peers. Later faults have no effect.
  // end_all() must follow.
  void break_off(Fault why);
  // Destroys the queues and ends all runs with the fault of break_off().
  void end_all();
  // Returns true if the group broke off because this rank has ended.
  bool is_of_dead(int rank) const;
  // Returns the fault of break_off() with its rank numbered as in this run's list.
  Fault fault_for(const Run& run) const;
  // Returns the transport's number of a rank of the run's list.
  int transport_rank(const Run& run, int peer) const;
  // Returns the route of notes if `watch` is true, otherwise that of the messages that connect
  // peers.
  Route route(bool watch) const;

  Adapter& adapter_;
  Transport& transport_;
  Parting& parting_;
  const ContextId context_;
  std::unique_ptr<QueueSet> queues_;
  std::map<int, Peer> peers_;  // by rank of the transport
  OffloadTemplates templates_;
  std::vector<std::unique_ptr<Started>> runs_;  // in the order of their starts
  std::vector<std::unique_ptr<Started>> spare_;
  PostedRuns posted_;
  std::optional<Clock::time_point> suspected_;  // when suspect() breaks off
  std::vector<int> ranks_;                      // all ranks of the communicator
  bool told_all_ = false;                       // word_to_all() has nothing more to say
  std::optional<Fault> broken_;                 // its rank may be -1: this rank
};

}  // namespace scela::collectives
