// The bulletin board: the key-value pairs that ranks put and get (NLA_Put and NLA_Get, thesis
// 2.2.3, 2.2.4), over the tree of agents and through the node's cache. The agent's core uses it,
// and one thread at a time calls it.
//
// The cache policy (cache/policy.h) says what is kept and which agent is asked, and this part
// carries that out. With the policy hcs, a pair travels up at once; with dht, each key has an
// owner, a rank. Each node has one agent. A question is a Get to another agent (msg::Get). One
// question for each key is in flight, whatever the number of askers: ranks of this node, or links
// to other agents. Answers are cached on their way back. A get that waits is parked at the agent
// where the answer will appear.
//
// If keys have owners (cache::Policy::owner), this part also knows the next link towards an owner.
// Every agent has the ranks of its own node and of each child; all other ranks are further up.
// Pairs of a fence go up with the aggregate (the pairs of a subtree) as far as they must, and down
// from there in msg::Pairs. Questions go the same way.
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
#include "nla/core/tree/core_context.h"
#include "nla/core/wire/request_names.h"

namespace scela::nla {

inline constexpr LinkId kHere = UINT32_MAX;  // not a link, but this node's ranks

class Bulletin {
 public:
  // The references are borrowed.
  Bulletin(Context& context, Children& children) : context_(context), children_(children) {}
  // Sets the policy; before that no request may come. The caller keeps the policy alive for as long
  // as the board. The job and the ranks of the children are known already.
  void use(cache::Policy* policy);

  // Carry out a request of a rank of this node. An action::Reply with `id` answers a put at once.
  // It answers a get at once or when the answer is known.
  void ask(Rank rank, RequestId id, const ask::Put& put);
  void ask(Rank rank, RequestId id, const ask::Get& wanted);
  // Takes a pair that a child sends up at once (policy hcs): caches it or sends it further up.
  void receive(const msg::Put& message);
  // Takes the question of a child, and answers it now or later. Returns false if the child asks for
  // more than its ranks can be waiting for, or asks for a key that it leads to itself.
  bool receive(const Child& from, const msg::Get& message);
  // Takes a question of the parent, in the same way. Returns false for the reasons above, or if
  // keys have no owners.
  bool receive(const msg::Get& message);
  // Takes an answer and answers all that asked for the key. Returns false if `from` was not asked
  // for this, or if a get that waits is answered with not found. If keys have no owners, the parent
  // may send such an answer: it does not know what fail_waiting() dropped.
  bool receive(LinkId from, const msg::Answer& message);

  // Takes the pairs of one piece of a fence, on their way up; `from` is the child's link, or kHere.
  // Keeps the pairs that are owned here, puts the pairs that are owned below aside for
  // send_spread(), and leaves in `pairs` what goes further up. Does nothing if keys have no owners.
  // Returns false if a child sends pairs that belong to its own subtree.
  bool spread(LinkId from, Chunk& pairs);
  // Sends what spread() put aside to the children that lead to the owners.
  void send_spread();
  // Takes pairs that come down to their owners: keeps those of this node and sends on those of
  // nodes below. Returns false if the message is malformed or not for this subtree.
  bool receive(const msg::Pairs& message);
  // Returns the bytes that spread() put aside.
  std::uint64_t held_bytes() const { return aside_bytes_; }

  // Call it when a fence was committed. Looks up again what parked gets ask for, because the
  // fence's pairs are visible now.
  void fence_passed();
  // Call it if these ranks of this node ended. Drops their gets that are not answered yet.
  void ranks_ended(const RankSet& ranks);
  // Call it if the child is lost. Answers with an error (Answer::lost) the gets that wait for an
  // answer from it, and drops the child's own questions.
  void child_ended(LinkId link);
  // Sends a new parent the questions that the lost parent has not answered.
  void ask_again();
  // Call it if a rank failed and the job goes on. Fails every waiting get of this node's ranks with
  // the error `why`, because the pair may never come. Agents below do the same for theirs.
  void fail_waiting(const std::string& why);

 private:
  // The sender of a question: a rank of this node, or the agent on a link.
  struct Asker {
    LinkId link = kHere;
    Rank rank = 0;  // only if the asker is on this node
    RequestId id = 0;
    bool before = false;  // it asked before Question::stale was set
  };
  using Askers = std::vector<Asker>;
  using Key = std::pair<std::string, bool>;  // the key, and if the get waits
  // A question that was sent to another agent, and the askers that wait for its answer.
  struct Question {
    Askers askers;
    LinkId to = kParentLink;
    // The answer in flight may be older than a fence or a pair that has come since.
    bool stale = false;
  };
  // An asker of which the question waits, because the next agent takes no more questions.
  struct HeldBack {
    std::string key;
    bool wait = false;
    Asker asker;
  };
  // The link that leads to the ranks [first, last].
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
  // Sends the questions in held_back_, as far as the next agents take them.
  void ask_on();
  // Keeps an asker in parked_, because no agent has the pair. If `wait` is false, answers with not
  // found instead.
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
  // Looks all parked keys up again. For a key that is not absent any more, answers its askers or
  // asks another agent.
  void recheck();
  // Answers gets that wait and of which the question is in flight, if their pair is visible here
  // now.
  void answer_here();

  // Notes that `link` leads to the owners among these ranks. The caller sorts routes_ after the
  // last call.
  void add_routes(const RankSet& ranks, LinkId link);
  // Returns the link towards an agent that knows more of a key than this node, and kHere if there
  // is none. Returns std::nullopt if the child that leads there was lost or has ended.
  std::optional<LinkId> next_link_to(std::string_view key) const;
  // Shows each pair to the policy. Appends the pairs for children to `parts`, and those for the
  // parent to `up`. `up` may be nullptr if the pairs come from the parent. Returns false if the
  // pairs are malformed, or if one of them leads back to the link `comes_from`.
  bool sort(std::string_view pairs, LinkId comes_from, Parts& parts, std::string* up);
  // Sends the pairs in `parts` to their children and clears it. Pairs for lost children are
  // dropped.
  void send(Parts& parts);
  // Sets Question::stale of the questions about this key.
  void mark_stale(std::string_view key);
  // Sets Question::stale of one question, and Asker::before of its askers.
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
