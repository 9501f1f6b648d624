// The bulletin board: NLA_Put and NLA_Get over the tree, through the node's cache
// (thesis 2.2.3, 2.2.4).
//
// The cache policy says what is kept and who is asked; this part carries it out: one question per
// key on its way whatever the number of askers, answers cached on their way back, waiting gets
// parked where the answer will appear.
//
// Where keys have owners (cache::Policy::owner), it also knows the way to them: every agent has the
// ranks of its own node and of each child, and the rest is further up. Pairs of a fence go up with
// the aggregate as far as they must and down from there in Pairs; questions go the same way.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/policy.h"
#include "nla/core/children.h"
#include "nla/core/context.h"
#include "nla/core/request.h"

namespace scela::nla {

inline constexpr LinkId kHere = UINT32_MAX;  // no link: the ranks of this node

class Bulletin {
 public:
  Bulletin(Context& context, Children& children) : context_(context), children_(children) {}
  // The policy outlives the board. The job and the children's ranks are known.
  void use(cache::Policy* policy);

  void ask(Rank rank, RequestId id, const ask::Put& put);
  void ask(Rank rank, RequestId id, const ask::Get& wanted);
  void receive(const msg::Put& message);
  // False: the child asks for more than its ranks can be waiting for, or for what it leads to
  // itself.
  bool receive(const Child& from, const msg::Get& message);
  bool receive(const msg::Get& message);  // from the parent; false as above
  // False: nobody there was asked for what only an owner knows.
  bool receive(LinkId from, const msg::Answer& message);

  // Where keys have owners: keeps what is owned here, puts what is owned below aside for
  // send_spread(), and leaves in `pairs` what goes further up. False: a child sends what belongs to
  // its own subtree.
  bool spread(LinkId from, Chunk& pairs);
  void send_spread();
  bool receive(const msg::Pairs& message);  // false: malformed, or not for this subtree
  std::uint64_t held_bytes() const { return aside_bytes_; }

  // A fence was committed: its pairs are visible.
  void fence_passed();
  void ranks_ended(const RankSet& ranks);
  void child_ended(LinkId link);  // whoever waits for what it was asked is told
  void ask_again();               // there is a new parent: what the lost one was asked
  // A rank failed and the job goes on: who waits for a pair is told, it may never come.
  void fail_waiting(const std::string& why);

 private:
  struct Asker {
    LinkId link = kHere;
    Rank rank = 0;  // here
    RequestId id = 0;
    bool before = false;  // it asked before what made Question::stale
  };
  using Askers = std::vector<Asker>;
  using Key = std::pair<std::string, bool>;  // key, waits
  struct Question {
    Askers askers;
    LinkId to = kParentLink;
    bool stale = false;  // the answer under way may be older than a fence or pair that came since
  };
  struct HeldBack {
    std::string key;
    bool wait = false;
    Asker asker;
  };
  struct Route {
    Rank last = 0;
    Rank first = 0;
    LinkId link = kHere;
  };
  using Parts = std::map<LinkId, std::string>;  // pairs, by child

  void get(const std::string& key, bool wait, const Asker& asker);
  void ask_elsewhere(const std::string& key, bool wait, const Asker& asker);
  bool may_ask(LinkId to) const;
  void ask_on();
  void park(const std::string& key, bool wait, const Asker& asker);
  // False: the asker is kept already.
  bool keep(Askers& askers, const Asker& asker);
  void forget(const Asker& asker);
  void drop_askers(const std::function<bool(const Asker&)>& which);
  void answer(const Asker& asker, const msg::Answer& message);
  void answer_all(const Askers& askers, const msg::Answer& message);
  void answer_local(const ask::Put& put);
  void recheck();
  void answer_here();

  void add_routes(const RankSet& ranks, LinkId link);
  // Towards who knows more of a key than this node: kHere if nobody does, nothing if the way there
  // was lost, or has ended.
  std::optional<LinkId> way_to(std::string_view key) const;
  // False: malformed, or one that `comes_from` should have kept to itself.
  bool sort(std::string_view pairs, LinkId comes_from, Parts& parts, std::string* up);
  void send(Parts& parts);
  void mark_stale(std::string_view key);
  static void mark_stale(Question& question);

  Context& context_;
  Children& children_;
  cache::Policy* policy_ = nullptr;
  std::map<Key, Question> asked_;            // elsewhere
  std::map<LinkId, std::size_t> open_;       // how many of them, by whom was asked
  std::map<std::string, Askers> parked_;     // waiting here
  std::deque<HeldBack> held_back_;           // until who is to be asked takes more questions
  std::map<LinkId, std::size_t> questions_;  // of other agents, in all of the above
  bool spreads_ = false;                     // keys have owners
  std::vector<Route> routes_;                // in order of ranks
  Parts aside_;
  std::uint64_t aside_bytes_ = 0;
};

}  // namespace scela::nla
