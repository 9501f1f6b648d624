// Any rank puts any key again and again, over real agents. The delays of their links are drawn from
// a seed. Under every policy, tree and limit all ranks see one value of a key after a fence, and no
// rank sees an older one after that. Gets are under way across fences, and some fences are those of
// groups.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <queue>
#include <tuple>

#include "cache/policy.h"
#include "common/core/random.h"
#include "common/core/text.h"
#include "nla/core/tree/agent.h"

namespace scela::sim::changing_values_test {
namespace {

using namespace nla;
using cache::PolicyKind;

struct Put {
  std::uint32_t node = 0;
  std::uint32_t stage = 0;  // fences of the whole job that its rank had behind it
  std::uint32_t order = 0;  // of all puts of this key, as agents took them
};

struct Step {
  enum What { put, get, get_beside, fence, group_fence } what = put;
  std::uint32_t key = 0;        // or which group
  std::uint32_t not_below = 0;  // a get: the order that its answer must have, if 1 or more
};

// The history of a key: the values with the times of their puts, and the value of each stage.
class Key {
 public:
  void put(const std::string& value, Put put) {
    put.order = static_cast<std::uint32_t>(puts_.size());
    puts_[value] = put;
  }
  bool has_put_in(std::uint32_t node, std::uint32_t stage) const {
    return std::any_of(puts_.begin(), puts_.end(), [&](const auto& one) {
      return one.second.node == node && one.second.stage == stage;
    });
  }
  // The last one of that stage, if one node alone has put in it.
  std::optional<std::string> only_one_of(std::uint32_t stage) const {
    std::optional<std::string> last;
    std::optional<Put> put;
    for (const auto& [value, one] : puts_) {
      if (one.stage != stage) continue;
      if (put && put->node != one.node) return std::nullopt;
      if (put && put->order > one.order) continue;
      put = one;
      last = value;
    }
    return last;
  }
  std::uint32_t order_of(const std::string& value) const { return puts_.at(value).order; }
  // Returns the error of an answer to a rank in `stage`, or an empty text.
  std::string judge(std::uint32_t node, std::uint32_t stage,
                    const std::optional<std::string>& got) {
    std::optional<std::uint32_t> settled;
    for (const auto& [value, put] : puts_) {
      if (put.stage < stage) settled = std::max(settled.value_or(0), put.stage);
    }
    if (!got) {
      if (has_put_in(node, stage)) return "its own node's pair is not found";
      return settled ? "a pair that was fenced is not found" : "";
    }
    const auto at = puts_.find(*got);
    if (at == puts_.end()) return "the value is nobody's";
    if (at->second.stage == stage) return {};
    if (has_put_in(node, stage)) return "its own node's put is not seen";
    if (at->second.stage != settled) return "the value is older than the last fence";
    const std::string& winner = winners_.emplace(*settled, *got).first->second;
    if (winner != *got) return "two values of one stage are seen behind its fence";
    if (const auto only = only_one_of(*settled); only && *only != *got) {
      return "an older value of the only node that has put any";
    }
    return {};
  }

 private:
  std::map<std::string, Put> puts_;               // by value, each is put once
  std::map<std::uint32_t, std::string> winners_;  // by stage
};

class Run {
 public:
  enum class Program { any, chain };
  Run(PolicyKind policy, std::uint64_t seed, Program program) : random_(seed), program_(program) {
    hosts_ = 1 + static_cast<std::uint32_t>(random_.below(9));
    ranks_per_host_ = 1 + static_cast<std::uint32_t>(random_.below(2));
    p_ = hosts_ * ranks_per_host_;
    slowest_ = random_.chance(1, 2) ? 3000 : 50;
    job_.id = "changing";
    App app;
    app.argv = {"program"};
    app.ranks = RankSet::run(0, p_);
    job_.apps.push_back(app);
    for (std::uint32_t i = 0; i < hosts_; ++i)
      job_.map.append(i, ranks_per_host_);
    job_.cache_policy = policy;
    job_.cache_limit = random_.chance(1, 2) ? 0 : 1 + random_.below(100);
    keys_.resize(1 + random_.below(6));
    if (program == Program::any) {
      write_programs();
    } else {
      write_chain();
    }
  }

  std::string play() {
    event::Begin begin;
    begin.job_id = job_.id;
    for (std::uint32_t i = 0; i < hosts_; ++i)
      begin.hosts.push_back(cat("n", i));
    begin.degree = 1 + static_cast<std::uint32_t>(random_.below(3));
    nodes_.emplace_back(Role::root);
    where_.resize(hosts_);
    post(0, 0, begin);
    drain();
    post(now_, 0, event::Launch{job_});
    drain();
    for (Rank rank = 0; rank < p_; ++rank)
      step(rank);
    drain();
    for (Rank rank = 0; rank < p_ && wrong_.empty(); ++rank) {
      if (ranks_[rank].at != ranks_[rank].program.size()) wrong_ = cat("rank ", rank, " waits");
    }
    return wrong_;
  }
  std::uint64_t judged() const { return judged_; }

 private:
  struct Node {
    explicit Node(Role role) : agent(role) {}
    Agent agent;
    std::size_t parent = 0;
    LinkId link_at_parent = 0;
    std::vector<std::size_t> children{0};  // by link
  };
  struct RankState {
    std::vector<Step> program;
    std::size_t at = 0;
    std::uint32_t stage = 0;
    RequestId waits = 0;
  };
  struct Asked {
    Rank rank = 0;
    Step step;
    std::string value;            // of a put
    bool beside = false;          // no rank waits for it
    std::uint32_t not_below = 0;  // a get: the order that its answer must have, if 1 or more
  };

  void write_programs() {
    ranks_.resize(p_);
    for (int stage = 0; stage < 6; ++stage) {
      // Which ranks have a group of their own in this stage; each stage another one.
      RankSet group;
      for (Rank rank = 0; rank < p_; ++rank) {
        if (random_.chance(1, 3)) group.add(RankSet::single(rank));
      }
      groups_.push_back(group);
      for (Rank rank = 0; rank < p_; ++rank) {
        std::vector<Step>& program = ranks_[rank].program;
        for (int half = 0; half < 2; ++half) {
          for (std::uint64_t i = random_.below(8); i > 0; --i) {
            const auto key = static_cast<std::uint32_t>(random_.below(keys_.size()));
            program.push_back({random_.chance(1, 6)   ? Step::put
                               : random_.chance(1, 3) ? Step::get_beside
                                                      : Step::get,
                               key});
          }
          if (half == 0 && group.contains(rank)) {
            program.push_back({Step::group_fence, static_cast<std::uint32_t>(stage)});
          }
        }
        program.push_back({Step::fence, 0});
      }
    }
  }

  // Groups meet one after the other. One member of a group at most puts the first key, and it was a
  // member of the group before as well. So every value of the key is newer than the last one, also
  // on nodes that have not seen that one.
  void write_chain() {
    ranks_.resize(p_);
    std::vector<RankSet> shown(p_);  // orders of values that each rank must see by now
    RankSet put;
    std::vector<RankSet> put_by(p_);
    for (int stage = 0; stage < 3; ++stage) {
      Rank holder = static_cast<Rank>(random_.below(p_));
      for (std::uint64_t turn = random_.below(8); turn > 0; --turn) {
        RankSet group = RankSet::single(holder);
        for (Rank rank = 0; rank < p_; ++rank) {
          if (random_.chance(1, 3)) group.add(RankSet::single(rank));
        }
        if (random_.chance(2, 3)) {
          ranks_[holder].program.push_back({Step::put, 0});
          const auto order = RankSet::single(static_cast<Rank>(put.size() + 1));
          put.add(order);
          put_by[holder].add(order);
          shown[holder].add(order);
        }
        RankSet brought;
        group.for_each([&](Rank rank) { brought.add(put_by[rank]); });
        for (Rank rank = 0; rank < p_; ++rank)
          chain_turn(rank, group, brought, shown[rank]);
        groups_.push_back(group);
        std::uint64_t next = random_.below(group.size());
        group.for_each([&](Rank rank) {
          if (next-- == 0) holder = rank;
        });
      }
      for (Rank rank = 0; rank < p_; ++rank) {
        ranks_[rank].program.push_back({Step::fence, 0});
        shown[rank] = put;
        push_get(rank, put);
      }
    }
  }
  void chain_turn(Rank rank, const RankSet& group, const RankSet& brought, RankSet& shown) {
    std::vector<Step>& program = ranks_[rank].program;
    if (keys_.size() > 1 && random_.chance(1, 3)) {  // what may evict the first one
      program.push_back(
          {Step::put, 1 + static_cast<std::uint32_t>(random_.below(keys_.size() - 1))});
    }
    if (random_.chance(1, 2)) program.push_back({Step::get_beside, 0});
    if (group.contains(rank)) {
      program.push_back({Step::group_fence, static_cast<std::uint32_t>(groups_.size())});
      shown.add(brought);
    }
    push_get(rank, shown);
  }
  void push_get(Rank rank, const RankSet& shown) {
    const std::uint32_t newest = shown.empty() ? 0 : shown.ranges().back().last;
    ranks_[rank].program.push_back({Step::get, 0, newest});
  }

  void post(std::uint64_t at, std::size_t node, Event event) {
    due_.push({at, next_, node});
    events_.emplace(next_++, std::move(event));
  }

  void drain() {
    while (!due_.empty() && wrong_.empty()) {
      const Due due = due_.top();
      due_.pop();
      const auto found = events_.find(due.order);
      const Event event = std::move(found->second);
      events_.erase(found);
      now_ = due.at;
      if (const auto* asked = std::get_if<event::Asked>(&event)) taken(asked->id);
      Actions actions;
      nodes_[due.node].agent.handle(event, actions);
      for (Action& action : actions)
        std::visit([&](auto& one) { carry_out(due.node, one); }, action);
    }
  }

  void carry_out(std::size_t from, action::Send& send) {
    const bool up = send.link == kParentLink;
    const std::size_t to = up ? nodes_[from].parent : nodes_[from].children[send.link];
    const LinkId link = up ? nodes_[from].link_at_parent : kParentLink;
    std::uint64_t& last = arrives_[{from, to}];  // in order on one link, in any order over several
    last = std::max(last, now_ + 1 + random_.below(random_.chance(1, 5) ? slowest_ : 20));
    post(last, to, event::Received{link, std::move(send.message), 0});
  }
  void carry_out(std::size_t from, action::StartChild& start) {
    const std::size_t at = nodes_.size();
    nodes_.emplace_back(Role::agent);
    nodes_[at].parent = from;
    nodes_[at].link_at_parent = start.link;
    auto& children = nodes_[from].children;
    children.resize(std::max<std::size_t>(children.size(), start.link + 1));
    children[start.link] = at;
    where_[start.node] = at;
  }
  void carry_out(std::size_t from, action::StartRanks& start) {
    start.ranks.for_each([&](Rank rank) { post(now_, from, event::RankStarted{rank}); });
  }
  void carry_out(std::size_t, action::CloseLink&) { wrong_ = "a link was given up"; }
  void carry_out(std::size_t, action::Reply& reply) { answered(reply.id, reply.response); }
  template <class A>
  void carry_out(std::size_t, A&) {}

  std::uint32_t node_of(Rank rank) const { return rank / ranks_per_host_; }

  // Its agent has this request now: the moment from which a pair is there.
  void taken(RequestId id) {
    const Asked& asked = asked_.at(id);
    if (asked.step.what != Step::put) return;
    keys_[asked.step.key].put(asked.value, {node_of(asked.rank), ranks_[asked.rank].stage, 0});
  }

  void answered(RequestId id, const Response& response) {
    const auto found = asked_.find(id);
    if (found == asked_.end()) {
      wrong_ = "a request was answered twice";
      return;
    }
    const Asked asked = found->second;
    asked_.erase(found);
    RankState& state = ranks_[asked.rank];
    if (!response.ok) wrong_ = response.error;
    if (asked.step.what == Step::get && !asked.beside) {
      std::optional<std::string> got;
      if (response.found) got = std::string(response.parts.front().view());
      Key& key = keys_[asked.step.key];
      wrong_ = key.judge(node_of(asked.rank), state.stage, got);
      if (wrong_.empty() && asked.not_below > 0 &&
          (!got || key.order_of(*got) + 1 < asked.not_below)) {
        wrong_ = "a group's fence has not brought a value to its members";
      }
      ++judged_;
      if (!wrong_.empty()) wrong_ += cat(": ", got.value_or("none"), " at rank ", asked.rank);
    }
    if (asked.step.what == Step::fence) ++state.stage;
    if (state.waits == id) step(asked.rank);
  }

  void step(Rank rank) {
    RankState& state = ranks_[rank];
    while (state.at < state.program.size()) {
      const Step step = state.program[state.at++];
      const RequestId id = ++last_id_;
      Asked& asked = asked_[id];
      asked.rank = rank;
      asked.step = step;
      asked.beside = step.what == Step::get_beside;
      const std::string name = cat("key-", step.key);
      Request request;
      switch (step.what) {
        case Step::put:
          asked.value = cat("value-", id);
          request = ask::Put{name, Chunk(asked.value)};
          break;
        case Step::get:
        case Step::get_beside:
          asked.not_below = std::max(step.not_below, brought_by_group(rank, step.key));
          request = ask::Get{name, false};
          break;
        case Step::fence:
          request = ask::Collective{CollectiveKind::fence, RankSet::run(0, p_), 0, {}};
          break;
        case Step::group_fence:
          enter_group(rank);
          request = ask::Collective{CollectiveKind::fence, groups_[step.key], 0, {}, 7};
          break;
      }
      post(now_, where_[node_of(rank)], event::Asked{rank, id, std::move(request)});
      if (asked.beside) continue;
      state.waits = id;
      return;
    }
  }

  // Records the values that one node alone had put when its member entered the group's fence.
  void enter_group(Rank rank) {
    const std::uint32_t stage = ranks_[rank].stage;
    for (std::uint32_t key = 0; key < keys_.size(); ++key) {
      const auto only = keys_[key].only_one_of(stage);
      if (!only || !keys_[key].has_put_in(node_of(rank), stage)) continue;
      std::uint32_t& order = brought_[{stage, key}];
      order = std::max(order, keys_[key].order_of(*only) + 1);
    }
    ++entered_[stage];
  }
  std::uint32_t brought_by_group(Rank rank, std::uint32_t key) {
    const std::uint32_t stage = ranks_[rank].stage;
    if (program_ == Program::chain || !groups_[stage].contains(rank)) return 0;
    if (entered_[stage] != groups_[stage].size() || !is_behind_group(rank)) return 0;
    const auto at = brought_.find({stage, key});
    return at == brought_.end() || !keys_[key].only_one_of(stage) ? 0 : at->second;
  }
  bool is_behind_group(Rank rank) const {
    const RankState& state = ranks_[rank];
    for (std::size_t i = state.at - 1; i > 0 && state.program[i - 1].what != Step::fence; --i) {
      if (state.program[i - 1].what == Step::group_fence) return true;
    }
    return false;
  }

  struct Due {
    std::uint64_t at;
    std::uint64_t order;
    std::size_t node;
    bool operator<(const Due& other) const {
      return std::tie(other.at, other.order) < std::tie(at, order);
    }
  };

  Random random_;
  Program program_;
  std::uint32_t hosts_ = 0;
  std::uint32_t ranks_per_host_ = 0;
  std::uint32_t p_ = 0;
  std::uint64_t slowest_ = 0;
  Job job_;
  std::vector<Key> keys_;
  std::vector<RankSet> groups_;  // by stage
  std::vector<RankState> ranks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> brought_;  // stage, key
  std::map<std::uint32_t, std::uint64_t> entered_;                            // by stage
  std::deque<Node> nodes_;
  std::vector<std::size_t> where_;  // by host
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> arrives_;
  std::priority_queue<Due> due_;
  std::map<std::uint64_t, Event> events_;
  std::uint64_t next_ = 0;
  std::map<RequestId, Asked> asked_;
  RequestId last_id_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t judged_ = 0;
  std::string wrong_;
};

}  // namespace

TEST_CASE("a fence gives all agents one value, however slow links and questions are") {
  for (int policy = 0; policy < cache::kPolicyKinds; ++policy) {
    const auto kind = static_cast<PolicyKind>(policy);
    std::uint64_t judged = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      INFO(name_of(kind) << ", seed " << seed);
      Run run(kind, seed, Run::Program::any);
      REQUIRE(run.play() == "");
      judged += run.judged();
    }
    CHECK(judged > 10'000);
  }
}

TEST_CASE("a fence of a group brings its members the newest of their values, under every policy") {
  for (int policy = 0; policy < cache::kPolicyKinds; ++policy) {
    const auto kind = static_cast<PolicyKind>(policy);
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      INFO(name_of(kind) << ", seed " << seed);
      Run run(kind, seed, Run::Program::chain);
      REQUIRE(run.play() == "");
    }
  }
}

}  // namespace scela::sim::changing_values_test
