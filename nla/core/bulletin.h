// The bulletin board: NLA_Put and NLA_Get over the tree, through the node's cache
// (thesis 2.2.3, 2.2.4).
//
// The cache policy says what is kept and who is asked; this part carries it out: one question per
// key on its way up whatever the number of askers, answers cached on their way down, waiting gets
// parked where the answer will appear.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/policy.h"
#include "nla/core/children.h"
#include "nla/core/context.h"
#include "nla/core/request.h"

namespace scela::nla {

class Bulletin {
 public:
  Bulletin(Context& context, Children& children) : context_(context), children_(children) {}
  // The policy outlives the board.
  void use(cache::Policy* policy) { policy_ = policy; }

  void ask(Rank rank, RequestId id, const ask::Put& put);
  void ask(Rank rank, RequestId id, const ask::Get& wanted);
  void receive(const msg::Put& message);
  // False: the child asks for more than its ranks can be waiting for.
  bool receive(const Child& from, const msg::Get& message);
  void receive(const msg::Answer& message);

  // Pairs may have become visible: answer the parked gets that can be.
  void recheck();
  void ranks_ended(const RankSet& ranks);
  void child_ended(LinkId link);
  void ask_again();  // there is a new parent: what the lost one was asked
  // A rank failed and the job goes on: who waits for a pair is told, it may never come.
  void fail_waiting(const std::string& why);

 private:
  struct Asker {
    LinkId link = kParentLink;  // kParentLink: a rank of this node
    Rank rank = 0;
    RequestId id = 0;
  };
  using Key = std::pair<std::string, bool>;  // key, waits

  using Askers = std::vector<Asker>;
  struct HeldBack {
    std::string key;
    bool wait = false;
    Asker asker;
  };

  void ask_above(const std::string& key, bool wait, const Asker& asker);
  void ask_on();
  void get(const std::string& key, bool wait, const Asker& asker);
  // False: the asker is kept already.
  bool keep(Askers& askers, const Asker& asker);
  void forget(const Asker& asker);
  void answer(const Asker& asker, const std::string& key, bool found, const Chunk& value);
  void answer_local(const ask::Put& put);
  void answer_all(const Askers& askers, const std::string& key, bool found, const Chunk& value);

  Context& context_;
  Children& children_;
  cache::Policy* policy_ = nullptr;
  std::map<Key, Askers> asked_;              // a Get went up
  std::map<std::string, Askers> parked_;     // waiting here
  std::deque<HeldBack> held_back_;           // until the parent takes more questions
  std::map<LinkId, std::size_t> questions_;  // of children, in both of the above
};

}  // namespace scela::nla
