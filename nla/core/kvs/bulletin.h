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

  // Carry out a request of a rank of this node. An action::Reply with `id` answers it, at once or
  // later.
  void ask(Rank rank, RequestId id, const ask::Put& put);
  void ask(Rank rank, RequestId id, const ask::Get& wanted);
  // A child sends a pair up at once (policy hcs).
  void receive(const msg::Put& message);
  // Returns false if the child asks for more than its ranks can be waiting for, or asks for a key
  // that it leads to itself.
  bool receive(const Child& from, const msg::Get& message);
  // From the parent. Returns false for the reasons above, or if keys have no owners.
  bool receive(const msg::Get& message);
  // Returns false if `from` was not asked for this, or if a get that waits is answered with not
  // found. If keys have no owners, the parent may send such an answer: it does not know what
  // fail_waiting() dropped.
  bool receive(LinkId from, const msg::Answer& message);

  // Does nothing if keys have no owners. Keeps the pairs that are owned here, puts the pairs that
  // are owned below aside for send_spread(), and leaves in `pairs` what goes further up. Returns
  // false if a child sends pairs that belong to its own subtree.
  bool spread(LinkId from, Chunk& pairs);
  // Sends what spread() put aside to the children that lead to the owners.
  void send_spread();
  // Returns false if the message is malformed or not for this subtree.
  bool receive(const msg::Pairs& message);
  // Returns the bytes that spread() put aside.
  std::uint64_t held_bytes() const { return aside_bytes_; }

  // A fence was committed, and its pairs are visible.
  void fence_passed();
  // These ranks of this node ended. Their gets are dropped without an answer.
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

  // Looks the key up for an asker. Then answers it, asks another agent, or parks the asker.
  void get(const std::string& key, bool wait, const Asker& asker);
  // Adds the asker to the question about this key. Sends the question unless it is in flight or the
  // next agent takes no more. In the second case the asker goes to held_back_.
  void ask_elsewhere(const std::string& key, bool wait, const Asker& asker);
  // Returns true if the agent on that link takes one more question now.
  bool may_ask(LinkId to) const;
  // Asks the questions in held_back_, as far as the next agents take them.
  void ask_on();
  // No agent has the pair. If `wait` is true, the asker waits in parked_. Otherwise it is answered
  // with not found.
  void park(const std::string& key, bool wait, const Asker& asker);
  // Adds the asker to `askers` and counts it in questions_. Returns false if its link is among them
  // already.
  bool keep(Askers& askers, const Asker& asker);
  // Takes an asker out of questions_. The caller has removed it from its list.
  void forget(const Asker& asker);
  // Removes the askers for which `which` returns true, without an answer. Leaves questions_ as it
  // is.
  void drop_askers(const std::function<bool(const Asker&)>& which);
  // Replies to a rank of this node, or sends the answer to the link that asked.
  void answer(const Asker& asker, const msg::Answer& message);
  // Calls forget() and answer() for each asker.
  void answer_all(const Askers& askers, const msg::Answer& message);
  // Answers the ranks of this node that asked other agents for this pair: this node has it now.
  void answer_local(const ask::Put& put);
  // Looks all parked keys up again. Askers for a key that is not absent any more are answered, or
  // ask another agent.
  void recheck();
  // Answers waiting gets that are in flight if their pair is visible here now.
  void answer_here();

  // `link` leads to the owners among these ranks. The caller sorts routes_ after the last call.
  void add_routes(const RankSet& ranks, LinkId link);
  // Returns the link towards an agent that knows more of a key than this node, and kHere if there
  // is none. Returns std::nullopt if the way there was lost or has ended.
  std::optional<LinkId> way_to(std::string_view key) const;
  // Shows each pair to the policy. Adds the pairs for children to `parts`, and those for the parent
  // to `up`. `up` may be nullptr if the pairs come from the parent. Returns false if the pairs are
  // malformed, or if one is a pair that `comes_from` should have kept to itself.
  bool sort(std::string_view pairs, LinkId comes_from, Parts& parts, std::string* up);
  // Sends each part to its child and clears `parts`. The parts of lost children are dropped.
  void send(Parts& parts);
  // Sets Question::stale of the questions about this key, or of one question.
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
