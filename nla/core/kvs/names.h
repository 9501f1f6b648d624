// The names of a job: a rank publishes a port under a name, and others look the port up. The
// agent's core uses this part, and one thread at a time calls it.
//
// There is one table, at the root of the tree. A question goes up, and its answer comes down to the
// rank that has asked. Agents on the way keep nothing of either. The asker's own agent knows what
// the rank waits for. If the way to the root is lost, a question or an answer may be lost with it.
// The agent then says so, and the rank cannot know if its request was carried out. A look-up that
// waits does so at the root.
//
// A name is published for a range of ranks, once in each range: in other ranges the same name may
// stand for other ports. A look-up finds what is for its asker, the narrowest range first.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "nla/core/tree/children.h"
#include "nla/core/tree/context.h"
#include "nla/core/wire/request.h"

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
  Names(Context& context, Children& children) : context_(context), children_(children) {}

  // A rank of this node asks. An action::Reply with `id` answers it later, or at once if the way to
  // the root is lost. give_up and withdraw have no answer of their own.
  void ask(Rank rank, RequestId id, const ask::Name& question);
  // Return false if the message breaks the protocol; the link must end then.
  bool receive(const Child& from, const msg::NameAsked& message);
  bool receive(const msg::NameAnswer& message);
  // These ranks of this node ended. They are not answered any more.
  void ranks_ended(const RankSet& ranks);
  // At the root: these ranks failed. Their waiting look-ups are dropped, so that no name of
  // publish_once goes to them, and their names of publish_own are gone.
  void askers_failed(const RankSet& ranks);
  // The way to the root was lost, here or above. Questions that are in flight fail, because they
  // may be lost too.
  void cut_off();

 private:
  struct Key {
    std::string name;
    NameRange range = NameRange::job;
    std::uint64_t where = 0;  // world, node or rank of this range
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    std::string port;
    Rank owner = 0;
    bool once = false;
    bool own = false;  // it is gone with its owner
  };
  using Table = std::map<Key, Entry>;
  struct Asker {
    Rank rank = 0;
    RequestId id = 0;
    NameRange range = NameRange::job;  // the ranks it accepts names of
  };

  bool way_is_lost() const { return context_.orphaned || context_.parent_lost; }
  // Returns the world, node or rank that `rank` belongs to in a range, and 0 for the whole job.
  std::uint64_t where(NameRange range, Rank rank) const;
  // Finds the name that a look-up of `rank` gets, the narrowest range first. The publisher must be
  // among the ranks of `range` around `rank`. Returns table_.end() if there is none.
  Table::iterator find(const std::string& name, Rank rank, NameRange range);
  // At the root: carries out a question.
  void serve(const msg::NameAsked& message);
  // Adds the name, or makes `answer` a refusal with the reason.
  void publish(const msg::NameAsked& message, msg::NameAnswer& answer);
  // Lets a look-up wait. Refuses it if the rank or its node has too many.
  void park(const msg::NameAsked& message);
  // Answers the waiting look-ups that find this name now, in the order in which they came.
  void answer_parked(const std::string& name);
  // Ends a look-up that still waits, with an error as its answer. Otherwise does nothing.
  void give_up(const msg::NameAsked& message);
  // Removes the names of publish_own of these ranks.
  void withdraw(const RankSet& owners);
  // Counts the bytes for the rank's node. Returns false if that node would hold too much; nothing
  // is counted then. release() takes the bytes off again.
  bool may_hold(Rank rank, std::uint64_t bytes);
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
