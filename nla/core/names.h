// The names of a job: who publishes one tells a port that others then look up by it.
//
// One table, at the root of the tree. A question goes up, its answer comes down by the rank that
// has asked; agents on the way keep nothing of either. The asker's own agent knows what it waits
// for: when the way to the root is lost, and with it perhaps a question or an answer, it says so,
// and the rank cannot know whether what it asked was done. A look-up that waits does so at the
// root.
//
// A name is published for a range of ranks, and there once in it: the same name may stand for
// others elsewhere. A look-up finds what is for its asker, the narrowest range first.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "nla/core/children.h"
#include "nla/core/context.h"
#include "nla/core/request.h"

namespace scela::nla {

// Of a name and of what is published under it, as protocols allow them: PMI 1,024 bytes of each
// (pmi/protocol/limits.h), PMIx any value. Smaller: addresses of many interfaces do not fit;
// larger: more memory at the root.
inline constexpr std::size_t kMaxName = 1024;
inline constexpr std::size_t kMaxPublished = 16 * 1024;

class Names {
 public:
  Names(Context& context, Children& children) : context_(context), children_(children) {}

  void ask(Rank rank, RequestId id, const ask::Name& question);
  // False: the message breaks the protocol; the link must end.
  bool receive(const Child& from, const msg::NameAsked& message);
  bool receive(const msg::NameAnswer& message);
  void ranks_ended(const RankSet& ranks);
  // The root: nothing is kept for them, and nothing that can be had once is given to them; what
  // goes with them is gone.
  void askers_failed(const RankSet& ranks);
  // The way to the root was lost, here or above: what was under way may be lost too.
  void cut_off();

 private:
  struct Key {
    std::string name;
    NameRange range = NameRange::job;
    std::uint64_t where = 0;  // which of them
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    std::string port;
    Rank owner = 0;
    bool once = false;
    bool own = false;  // gone with its owner
  };
  using Table = std::map<Key, Entry>;
  struct Asker {
    Rank rank = 0;
    RequestId id = 0;
    NameRange range = NameRange::job;  // of those that it would hear
  };

  bool way_is_lost() const { return context_.orphaned || context_.parent_lost; }
  std::uint64_t where(NameRange range, Rank rank) const;
  Table::iterator find(const std::string& name, Rank rank, NameRange range);
  void serve(const msg::NameAsked& message);
  void publish(const msg::NameAsked& message, msg::NameAnswer& answer);
  void park(const msg::NameAsked& message);
  void answer_parked(const std::string& name);
  void give_up(const msg::NameAsked& message);
  void withdraw(const RankSet& owners);
  void reply(const msg::NameAnswer& answer);
  std::string take(Table::iterator at);

  Context& context_;
  Children& children_;
  std::set<std::pair<Rank, RequestId>> waiting_;     // of this node
  Table table_;                                      // the root's
  std::map<Rank, std::uint32_t> published_;          // the root's: names in it, by owner
  std::map<std::string, std::deque<Asker>> parked_;  // the root's: who waits for a name
  std::map<Rank, std::uint32_t> waits_;              // the root's: how many of those, by asker
};

}  // namespace scela::nla
