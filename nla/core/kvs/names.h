// The names of a job: a rank publishes a port under a name, and others look the port up. The
// agent's core uses this part, and one thread at a time calls it. Each node has one agent; the root
// of the tree of agents is inside scela-run.
//
// There is one table, at the root of the tree. A question goes up, and its answer comes down to the
// rank that has asked. Agents between keep nothing of either. The asker's own agent knows what the
// rank waits for. If the connection to the root is lost, a question or an answer may be lost with
// it. The agent then replies so, and the rank cannot know if its request was carried out. A look-up
// that waits does so at the root.
//
// A name is published for a range of ranks (NameRange), once in each range: in other ranges the
// same name may stand for other ports. A look-up finds what is for its asker, the narrowest range
// first. NameAct lists the questions.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/wire/request_names.h"

namespace scela::nla {

// The most bytes of a name and of what is published under it. PMI allows 1,024 bytes of each
// (pmi/protocol/limits.h), PMIx any value. If they were smaller, addresses of many interfaces would
// not fit. If they were larger, the root would need more memory.
inline constexpr std::size_t kMaxName = 1024;
inline constexpr std::size_t kMaxPublished = 16 * 1024;
// The most bytes that the names and the waiting look-ups of one node's ranks may take at the root.
// If it were smaller, nodes of many ranks that each publish a large port would be refused. If it
// were larger, a compromised node with many spawned ranks could take more memory.
inline constexpr std::uint64_t kMaxHeldOfNode = std::uint64_t{16} * 1024 * 1024;

class Names {
 public:
  // The references are borrowed.
  Names(Context& context, Children& children) : context_(context), children_(children) {}

  // Carries out a question of a rank of this node. An action::Reply with `id` answers it later, or
  // at once if the connection to the root is lost. give_up and withdraw have no answer of their
  // own.
  void ask(Rank rank, RequestId id, const ask::Name& question);
  // Takes a question of a rank below: answers it at the root, and sends it up elsewhere. Returns
  // false if the message breaks the protocol; the caller ends the link then.
  bool receive(const Child& from, const msg::NameAsked& message);
  // Takes an answer from above: replies to the rank if it is on this node, and sends it down
  // elsewhere. Returns false if the message breaks the protocol.
  bool receive(const msg::NameAnswer& message);
  // Call it if these ranks of this node ended. Their questions are not answered any more.
  void ranks_ended(const RankSet& ranks);
  // At the root: call it if these ranks failed. Drops their waiting look-ups, so that no name of
  // publish_once goes to them, and removes their names of publish_own.
  void askers_failed(const RankSet& ranks);
  // Call it if the connection to the root was lost, here or above. Questions that are in flight are
  // answered with an error, because they may be lost too.
  void cut_off();

 private:
  // The key of a name in the table.
  struct Key {
    std::string name;
    NameRange range = NameRange::job;
    // The world, node or rank that the name is for; 0 if the range is the job.
    std::uint64_t where = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // A published name.
  struct Entry {
    std::string port;
    Rank owner = 0;
    bool once = false;  // it is gone with its first look-up
    bool own = false;   // it is gone with its owner
  };
  using Table = std::map<Key, Entry>;
  // A look-up that waits for its name.
  struct Asker {
    Rank rank = 0;
    RequestId id = 0;
    NameRange range = NameRange::job;  // the ranks it accepts names of
  };

  // Returns true if this agent has no parent now, so that no question reaches the root.
  bool has_no_parent() const { return context_.orphaned || context_.parent_lost; }
  // Returns the world, node or rank that `rank` belongs to in a range, and 0 for the whole job.
  std::uint64_t where(NameRange range, Rank rank) const;
  // Finds the name that a look-up of `rank` gets. A name counts if its publisher is in `range`: in
  // the same job, world or node as `rank`, or `rank` itself. If several count, the one with the
  // narrowest range of its own is taken. Returns table_.end() if there is none.
  Table::iterator find(const std::string& name, Rank rank, NameRange range);
  // At the root: carries out a question.
  void serve(const msg::NameAsked& message);
  // Adds the name, or makes `answer` a refusal with the reason.
  void publish(const msg::NameAsked& message, msg::NameAnswer& answer);
  // Lets a look-up wait. Refuses it if the rank or its node has too many.
  void park(const msg::NameAsked& message);
  // Answers the waiting look-ups that find this name now, the oldest first.
  void answer_parked(const std::string& name);
  // Ends a look-up that still waits, with an error as its answer. Otherwise does nothing.
  void give_up(const msg::NameAsked& message);
  // Removes the names of publish_own of these ranks.
  void withdraw(const RankSet& owners);
  // Counts the bytes for the rank's node. Returns false if that node would hold too much; nothing
  // is counted then.
  bool may_hold(Rank rank, std::uint64_t bytes);
  // Takes bytes that may_hold() has counted off again.
  void release(Rank rank, std::uint64_t bytes);
  // Removes a name, and takes it off the counts of its owner and node.
  void erase(Table::iterator at);
  // Sends the answer to the child that leads to the asker. It is dropped if there is none.
  void reply(const msg::NameAnswer& answer);
  // Returns the port of a name. A name of publish_once is removed.
  std::string take(Table::iterator at);

  Context& context_;
  Children& children_;
  std::set<std::pair<Rank, RequestId>> waiting_;     // askers on this node
  Table table_;                                      // at the root
  std::map<Rank, std::uint32_t> published_;          // at the root: number of names, by owner
  std::map<std::string, std::deque<Asker>> parked_;  // at the root: askers by name
  std::map<Rank, std::uint32_t> waits_;              // at the root: number of waits, by asker
  std::map<std::uint32_t, std::uint64_t> held_;      // at the root: bytes, by node
};

}  // namespace scela::nla
