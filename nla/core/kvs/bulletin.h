// The bulletin board: NLA_Put and NLA_Get over the tree, through the node's cache (thesis 2.2.3,
// 2.2.4). The agent's core uses it, and one thread at a time calls it.
//
// The cache policy says what is kept and which agent is asked, and this part carries that out. One
// question for each key is in flight, whatever the number of askers. Answers are cached on their
// way back. A get that waits is parked at the place where the answer will appear.
//
// If keys have owners (cache::Policy::owner), this part also knows the way to an owner. Every agent
// has the ranks of its own node and of each child; all other ranks are further up. Pairs of a fence
// go up with the aggregate as far as they must, and down from there in Pairs. Questions go the same
// way.
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
#include "nla/core/tree/children.h"
#include "nla/core/tree/context.h"
#include "nla/core/wire/request.h"

namespace scela::nla {

inline constexpr LinkId kHere = UINT32_MAX;  // not a link, but this node's ranks

class Bulletin {
 public:
  Bulletin(Context& context, Children& children) : context_(context), children_(children) {}
  // The caller keeps the policy alive for as long as the board, and the job and the children's
  // ranks are known.
  void use(cache::Policy* policy);

  void ask(Rank rank, RequestId id, const ask::Put& put);
  void ask(Rank rank, RequestId id, const ask::Get& wanted);
  void receive(const msg::Put& message);
  // Returns false if the child asks for more than its ranks can be waiting for, or asks for a key
  // that it leads to itself.
  bool receive(const Child& from, const msg::Get& message);
  // From the parent. Returns false for the reasons above, or if keys have no owners.
  bool receive(const msg::Get& message);
  // Returns false if `from` was not asked for what only an owner knows.
  bool receive(LinkId from, const msg::Answer& message);

  // Does nothing if keys have no owners. Keeps the pairs that are owned here, puts the pairs that
  // are owned below aside for send_spread(), and leaves in `pairs` what goes further up. Returns
  // false if a child sends pairs that belong to its own subtree.
  bool spread(LinkId from, Chunk& pairs);
  void send_spread();
  // Returns false if the message is malformed or not for this subtree.
  bool receive(const msg::Pairs& message);
  std::uint64_t held_bytes() const { return aside_bytes_; }

  // A fence was committed, and its pairs are visible.
  void fence_passed();
  void ranks_ended(const RankSet& ranks);
  // The askers that wait for an answer from this child are told that it is lost.
  void child_ended(LinkId link);
  // Asks a new parent what the lost parent was asked.
  void ask_again();
  // A rank failed and the job goes on. Every get that waits for a pair fails with `why`, because
  // the pair may never come.
  void fail_waiting(const std::string& why);

 private:
  struct Asker {
    LinkId link = kHere;
    Rank rank = 0;  // only if the asker is on this node
    RequestId id = 0;
    bool before = false;  // it asked before Question::stale was set
  };
  using Askers = std::vector<Asker>;
  using Key = std::pair<std::string, bool>;  // the key, and if the get waits
  struct Question {
    Askers askers;
    LinkId to = kParentLink;
    // The answer in flight may be older than a fence or a pair that has come since.
    bool stale = false;
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
  using Parts = std::map<LinkId, std::string>;  // pairs by child

  void get(const std::string& key, bool wait, const Asker& asker);
  void ask_elsewhere(const std::string& key, bool wait, const Asker& asker);
  bool may_ask(LinkId to) const;
  void ask_on();
  void park(const std::string& key, bool wait, const Asker& asker);
  // Returns false if the asker is kept already.
  bool keep(Askers& askers, const Asker& asker);
  void forget(const Asker& asker);
  void drop_askers(const std::function<bool(const Asker&)>& which);
  void answer(const Asker& asker, const msg::Answer& message);
  void answer_all(const Askers& askers, const msg::Answer& message);
  void answer_local(const ask::Put& put);
  void recheck();
  void answer_here();

  void add_routes(const RankSet& ranks, LinkId link);
  // Returns the link towards an agent that knows more of a key than this node, and kHere if there
  // is none. Returns std::nullopt if the way there was lost or has ended.
  std::optional<LinkId> way_to(std::string_view key) const;
  // Returns false if the pairs are malformed, or if one is a pair that `comes_from` should have
  // kept to itself.
  bool sort(std::string_view pairs, LinkId comes_from, Parts& parts, std::string* up);
  void send(Parts& parts);
  void mark_stale(std::string_view key);
  static void mark_stale(Question& question);

  Context& context_;
  Children& children_;
  cache::Policy* policy_ = nullptr;
  std::map<Key, Question> asked_;            // questions to other agents
  std::map<LinkId, std::size_t> open_;       // number of them, by the asked link
  std::map<std::string, Askers> parked_;     // askers that wait here, by key
  std::deque<HeldBack> held_back_;           // until the next agent takes more
  std::map<LinkId, std::size_t> questions_;  // of other agents, in all of these
  bool spreads_ = false;                     // true if keys have owners
  std::vector<Route> routes_;                // sorted by rank
  Parts aside_;
  std::uint64_t aside_bytes_ = 0;
};

}  // namespace scela::nla
