// Messages in memory, between ranks that are objects of one process. The network is as unkind as a
// real one may be.
//
// Only the seed says when and in which order messages arrive. A receive's buffer is scribbled on as
// soon as it is given away. What is sent is read when it arrives, or at once, by turns.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "collectives/executors/run/message_transport.h"
#include "common/core/random.h"

namespace scela::collectives::test {

class MemoryNetwork {
 public:
  MemoryNetwork(int ranks, std::uint64_t seed);
  ~MemoryNetwork();

  // A rank may have several.
  std::unique_ptr<Transport> transport(int rank);
  // Lets one message arrive. Returns false if none can.
  bool deliver();
  // Kills the rank: messages with it fail, and nothing touches its buffers.
  void kill(int rank);
  // Ends the rank. What it has sent arrives yet.
  void leave(int rank);
  // Ends the rank as leave() does, but the ranks `by` hear nothing of that until their transports
  // lose it, or tell() tells them.
  void leave_unheard(int rank, std::span<const int> by);
  void tell(int rank, int of_dead);
  // Kills the rank when it begins the n-th message from now.
  void kill_after(int rank, int messages);
  // The next message that this rank begins, and its other end, fail with this.
  void fail_next(int rank, FaultCode code);
  // Returns the number of messages that were begun and are neither over nor cancelled.
  std::size_t under_way();
  // Returns the number of sends and receives since the beginning.
  std::uint64_t begun();
  // Threads that block let messages arrive themselves; without it, only deliver() does.
  void deliver_in_waits() { delivers_ = true; }

 private:
  friend class MemoryTransport;
  struct Message;
  struct End {
    Message* message = nullptr;
    bool over = false;
    std::uint64_t bytes = 0;
    std::shared_ptr<const Fault> fault;
  };
  struct Key {
    int from = 0;
    int to = 0;
    ContextId context = 0;
    std::uint32_t tag = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Message {
    Key key;
    End* send = nullptr;     // null: not begun, or over
    End* receive = nullptr;  // likewise
    std::span<const std::byte> from;
    std::span<std::byte> to;
    std::vector<std::byte> copy;
    bool copied = false;
    bool is_sent = false;
    bool is_received = false;
    std::shared_ptr<const Fault> fault;
  };

  End* begin(Key key, bool is_send, std::span<const std::byte> from, std::span<std::byte> to);
  bool was_sent(const Key& key) const;
  bool deliver_one();
  void meet(Message& message);
  void drop(Message& message);
  void kill_now(int rank);
  void leave_now(int rank);
  void end_all(int rank, int other);
  void end_own(int rank, int other);
  static bool is_between(const Message& message, int one, int other);
  bool hears_of(int asker, int rank) const { return !unheard_.contains({asker, rank}); }
  void drop_context(int rank, ContextId context);
  static void end(End*& end, std::uint64_t bytes, std::shared_ptr<const Fault> fault);
  std::shared_ptr<const Fault> fault_of(int asker, const Key& key) const;

  std::mutex mutex_;
  std::uint64_t begun_ = 0;
  std::condition_variable changed_;
  Random random_;
  // messages that wait for their other end
  std::map<Key, std::deque<std::unique_ptr<Message>>> waiting_;
  std::vector<std::unique_ptr<Message>> met_;
  std::vector<bool> dead_;
  std::vector<int> messages_left_;  // by rank; 0: any number
  std::vector<std::shared_ptr<const Fault>> next_fault_;
  std::vector<std::vector<AbortedContext>> given_up_;  // to be told, by rank
  std::set<std::pair<int, ContextId>> dropped_;        // rank and context
  std::set<std::pair<int, int>> unheard_;              // the first hears no death of the second
  bool delivers_ = false;
};

}  // namespace scela::collectives::test
