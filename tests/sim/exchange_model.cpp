#include "tests/sim/exchange_model.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <queue>
#include <tuple>

#include "common/core/bytes.h"
#include "common/core/overloaded.h"
#include "common/core/text.h"
#include "nla/core/tree/agent.h"
#include "tests/sim/counting_policy.h"

namespace scela::sim {

namespace {

using namespace nla;

struct ExchangeNode {
  ExchangeNode(Role role, cache::PolicyMaker make_policy) : agent(role, std::move(make_policy)) {}
  Agent agent;
  std::size_t parent = 0;
  LinkId link_at_parent = 0;
  std::vector<std::size_t> children{0};  // by link
  double free_at = 0;                    // when it has served what it was given
};

// One rank: where it is in its program.
struct RankState {
  std::uint32_t stage = 0;
  std::uint32_t puts = 0;
  std::uint32_t gets = 0;
  bool fenced = false;
  bool over = false;
};

class ExchangeRun {
 public:
  explicit ExchangeRun(const Exchange& exchange)
      : plan_(exchange), p_(plan_.hosts * plan_.ranks_per_host) {
    ranks_.resize(p_);
    out_.nodes.resize(plan_.hosts + 1);
    nodes_.emplace_back(Role::root, cache::make_policy);
    where_.resize(plan_.hosts + 1);
  }

  Outcome play() {
    event::Begin begin;
    begin.job_id = "exchange";
    for (std::uint32_t i = 0; i < plan_.hosts; ++i)
      begin.hosts.push_back(cat("n", i));
    begin.degree = plan_.degree;
    post(0, 0, begin);
    drain();
    post(now_, 0, event::Launch{job()});
    drain();
    const double begun = now_;
    counting_ = true;
    for (Rank rank = 0; rank < p_; ++rank)
      step(rank, begun);
    drain();
    out_.microseconds = last_answer_ - begun;
    for (Rank rank = 0; rank < p_ && out_.wrong.empty(); ++rank) {
      if (!ranks_[rank].over) out_.wrong = cat("rank ", rank, " did not come to its end");
    }
    for (std::size_t host = 0; host <= plan_.hosts; ++host)
      out_.nodes[host].cache_bytes = nodes_[where_[host]].agent.cache_bytes();
    return std::move(out_);
  }

 private:
  struct Due {
    double at;
    std::uint64_t order;
    std::size_t node;
    bool operator<(const Due& other) const {
      return std::tie(other.at, other.order) < std::tie(at, order);
    }
  };

  Job job() const {
    Job job;
    job.id = "exchange";
    App app;
    app.argv = {"program"};
    app.ranks = RankSet::run(0, p_);
    job.apps.push_back(app);
    for (std::uint32_t i = 0; i < plan_.hosts; ++i)
      job.map.append(i, plan_.ranks_per_host);
    job.cache_policy = plan_.policy;
    job.cache_limit = plan_.limit;
    return job;
  }

  void post(double at, std::size_t node, Event event) {
    due_.push({at, next_, node});
    events_.emplace(next_++, std::move(event));
  }

  void drain() {
    while (!due_.empty()) {
      const Due due = due_.top();
      due_.pop();
      const auto found = events_.find(due.order);
      const Event event = std::move(found->second);
      events_.erase(found);
      ExchangeNode& node = nodes_[due.node];
      node.free_at = std::max(node.free_at, due.at) + cost_of(event);
      now_ = node.free_at;
      Actions actions;
      node.agent.handle(event, actions);
      if (counting_) {
        std::uint64_t& peak = out_.nodes[host_of(due.node)].peak_bytes;
        peak = std::max(peak, node.agent.held_bytes());
      }
      for (Action& action : actions)
        std::visit([&](auto& one) { carry_out(due.node, one); }, action);
    }
  }

  double cost_of(const Event& event) const {
    if (!counting_) return 0;
    if (const auto* received = std::get_if<event::Received>(&event)) {
      return message_cost(received->message);
    }
    return std::holds_alternative<event::Asked>(event) ? plan_.costs.request : 0;
  }
  double message_cost(const Message& message) const {
    if (plan_.costs.byte == 0) return plan_.costs.message;
    return plan_.costs.message + plan_.costs.byte * static_cast<double>(encode(message).size());
  }

  std::size_t host_of(std::size_t node) const { return host_[node]; }

  void carry_out(std::size_t from, action::Send& send) {
    const bool up = send.link == kParentLink;
    ExchangeNode& sender = nodes_[from];
    const std::size_t to = up ? sender.parent : sender.children[send.link];
    if (counting_) {
      sender.free_at += message_cost(send.message);
      count(up ? to : from, up ? from : to, up, send.message);
    }
    const LinkId link = up ? sender.link_at_parent : kParentLink;
    post(sender.free_at + plan_.costs.hop, to, event::Received{link, std::move(send.message), 0});
  }

  void count(std::size_t parent, std::size_t child, bool up, const Message& message) {
    Counts& above = out_.nodes[host_of(parent)];
    if (up) ++out_.nodes[host_of(child)].sent_up;
    std::visit(
        Overloaded{
            [&](const msg::Put& put) {
              ++above.puts_from_children;
              above.pair_bytes_up += pair_bytes(put.key, put.value.view());
            },
            [&](const msg::CollectiveUp& piece) {
              ++above.aggregates_from_children;
              above.pair_bytes_up += unpacked(piece);
            },
            [&](const msg::Get&) { ++(up ? above.gets_from_children : above.gets_to_children); },
            [&](const msg::Pairs& piece) {
              ++above.spread_down;
              above.pair_bytes_down += piece.pairs.size();
            },
            [&](const msg::CollectiveDown& piece) {
              ++above.releases_down;
              above.pair_bytes_down += unpacked(piece);
            },
            [&](const msg::Answer& answer) {
              ++(up ? above.answers_from_children : above.answers_down);
              (up ? above.pair_bytes_up : above.pair_bytes_down) +=
                  pair_bytes(answer.key, answer.value.view());
            },
            [&](const auto&) {
              if (out_.wrong.empty()) out_.wrong = cat("unexpected message ", name_of(message));
            },
        },
        message);
  }

  // Bytes of pairs, however they are written: nla/core/wire/packing.h begins with how many they
  // are.
  template <class Piece>
  static std::uint64_t unpacked(const Piece& piece) {
    return piece.packed ? ByteReader(piece.records.view()).varint() : piece.records.size();
  }
  static std::uint64_t pair_bytes(std::string_view key, std::string_view value) {
    std::string pair;
    cache::append_pair(pair, key, value);
    return pair.size();
  }

  void carry_out(std::size_t from, action::StartChild& start) {
    const std::size_t at = nodes_.size();
    const bool counts = start.node % plan_.sample != 0;
    nodes_.emplace_back(Role::agent, counts ? counting() : cache::make_policy);
    nodes_[at].parent = from;
    nodes_[at].link_at_parent = start.link;
    auto& children = nodes_[from].children;
    children.resize(std::max<std::size_t>(children.size(), start.link + 1));
    children[start.link] = at;
    host_.push_back(start.node + 1);
    where_[start.node + 1] = at;
  }
  cache::PolicyMaker counting() {
    return [this](cache::PolicyKind kind, const cache::Place& place) {
      auto policy = make_counting_policy(kind, place, table_);
      return policy ? std::move(policy) : cache::make_policy(kind, place);
    };
  }
  void carry_out(std::size_t from, action::StartRanks& start) {
    start.ranks.for_each([&](Rank rank) { post(now_, from, event::RankStarted{rank}); });
  }
  void carry_out(std::size_t from, action::Reply& reply) {
    answered(reply.rank, reply.response, nodes_[from].free_at);
  }
  template <class A>
  void carry_out(std::size_t, A&) {}

  void answered(Rank rank, const Response& response, double at) {
    RankState& state = ranks_[rank];
    if (!response.ok && out_.wrong.empty()) out_.wrong = response.error;
    if (state.fenced) {  // a get
      if (!response.found || response.parts.front().view() != value(peer(rank))) {
        if (out_.wrong.empty()) out_.wrong = cat("rank ", rank, " got a wrong value");
      }
      ++out_.answered;
      ++state.gets;
      last_answer_ = std::max(last_answer_, at);
    } else if (state.puts == plan_.pairs) {
      state.fenced = true;
    } else {
      ++state.puts;
    }
    step(rank, at);
  }

  std::uint32_t peers() const { return plan_.all ? p_ : std::min(2u, p_); }
  // The next to be asked for: 1:2 the neighbours; 1:p all, from the next one round.
  std::uint32_t peer(Rank rank) const {
    const std::uint32_t i = ranks_[rank].gets;
    if (plan_.all) return (rank + 1 + i) % p_;
    return (i == 0 ? rank + 1 : rank + p_ - 1) % p_;
  }
  std::string value(Rank rank) const {
    return std::string(plan_.value_size, static_cast<char>('a' + rank % 26));
  }

  void step(Rank rank, double at) {
    RankState& state = ranks_[rank];
    if (state.fenced && state.gets == peers()) {
      state = RankState{state.stage + 1, 0, 0, false, false};
      if (state.stage == plan_.stages) state.over = true;
    }
    if (state.over) return;
    Request request;
    if (state.fenced) {
      request = ask::Get{key_of_card(peer(rank), 0, state.stage), false};
    } else if (state.puts < plan_.pairs) {
      request = ask::Put{key_of_card(rank, state.puts, state.stage), Chunk(value(rank))};
    } else {
      request = ask::Collective{CollectiveKind::fence, RankSet::run(0, p_), 0, {}};
    }
    const std::size_t node = where_[1 + rank / plan_.ranks_per_host];
    post(at, node, event::Asked{rank, ++asked_, std::move(request)});
  }

  Exchange plan_;
  std::uint32_t p_;
  SharedTable table_;  // outlives the agents
  std::deque<ExchangeNode> nodes_;
  std::vector<std::size_t> host_{0};  // by node: 1 + its host
  std::vector<std::size_t> where_;    // by 1 + host
  std::vector<RankState> ranks_;
  std::priority_queue<Due> due_;
  std::map<std::uint64_t, Event> events_;
  std::uint64_t next_ = 0;
  std::uint64_t asked_ = 0;
  double now_ = 0;
  double last_answer_ = 0;
  bool counting_ = false;
  Outcome out_;
};

}  // namespace

std::string key_of_card(std::uint32_t rank, std::uint32_t pair, std::uint32_t stage) {
  char text[40];
  std::snprintf(text, sizeof text, "card-%06u-%02u-%02u", rank, pair, stage);
  return text;
}

std::vector<Exchange> small_exchanges(cache::PolicyKind policy) {
  struct Shape {
    std::uint32_t hosts, ranks, degree;
  };
  std::vector<Exchange> out;
  for (const Shape& shape :
       {Shape{1, 1, 1}, Shape{1, 5, 3}, Shape{2, 1, 1}, Shape{3, 2, 1}, Shape{7, 3, 2},
        Shape{13, 1, 3}, Shape{16, 4, 16}, Shape{40, 2, 3}, Shape{64, 2, 8}}) {
    for (const bool all : {false, true}) {
      Exchange& e = out.emplace_back();
      e.policy = policy;
      e.hosts = shape.hosts;
      e.ranks_per_host = shape.ranks;
      e.degree = shape.degree;
      e.stages = shape.hosts % 2 + 1;
      e.pairs = shape.hosts % 3 + 1;
      e.value_size = 20;
      e.all = all;
    }
  }
  return out;
}

Outcome run(const Exchange& exchange) {
  return ExchangeRun(exchange).play();
}

}  // namespace scela::sim
