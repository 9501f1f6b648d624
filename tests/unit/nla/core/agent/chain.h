// One agent's core between neighbours that a test plays. The neighbours send good or bad messages,
// as the test wants.
#pragma once

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "nla/core/tree/agent.h"

namespace scela::nla::testing {

// One agent that runs a job, between neighbours that the test plays. It is node 0 of a chain of
// three, so its only child (link 1) looks after nodes 1 and 2. Node 3 is elsewhere. Each node has
// two ranks.
struct Chain {
  // If `ready` is false, the agent is not ready yet, and its child has told its topology if `asked`
  // has settings.
  explicit Chain(bool ready = true, std::uint32_t adopt_ms = 0,
                 const std::string& asked = "fanout=2\ntopology=1\n")
      : adopts(adopt_ms > 0) {
    msg::Start start;
    start.slice = {0, 3};
    start.nodes = 4;
    start.degree = 1;
    start.adopt_ms = adopt_ms;
    if (!ready) start.settings = asked;
    from(kParentLink, start);
    from(kParentLink, msg::SliceHosts{true, Chunk(std::string("a\nb\nc\n"))});
    msg::Hello hello;
    hello.node = 1;
    if (!ready && !asked.empty()) hello.topology = "four";
    from(1, hello);
    if (ready) from(1, msg::Ready{2});
  }
  void launch() {
    from(kParentLink, msg::JobBytes{true, Chunk(job_bytes())});
    give(event::RankStarted{0});
    give(event::RankStarted{1});
    actions.clear();
  }
  std::string job_bytes() const {
    Job job;
    job.id = "test";
    job.trace = traced;
    if (adopts) job.on_failure = OnFailure::wait;
    job.cache_policy = policy;
    job.stdin_ranks = stdin_ranks;
    job.terminal_ranks = terminal_ranks;
    App app;
    app.argv = {"program"};
    app.ranks = RankSet::run(0, 4 * ranks_of_node);
    job.apps.push_back(std::move(app));
    for (std::uint32_t node = 0; node < 4; ++node)
      job.map.append(node, ranks_of_node);
    return encode(job);
  }
  // Gives the agent one event. Afterwards `actions` has what the agent does about it.
  void give(const Event& event) {
    actions.clear();
    agent.handle(event, actions);
  }
  void from(LinkId link, Message message) { give(event::Received{link, std::move(message), 0}); }
  void ask(Rank rank, const RankSet& set) {
    give(event::Asked{rank, ++request, ask::Collective{CollectiveKind::barrier, set, 0, {}}});
  }

  template <class M>
  std::vector<M> sent(LinkId link) const {
    std::vector<M> found;
    for (const Action& action : actions) {
      const auto* send = std::get_if<action::Send>(&action);
      if (send != nullptr && send->link == link && std::holds_alternative<M>(send->message))
        found.push_back(std::get<M>(send->message));
    }
    return found;
  }
  std::size_t replies() const {
    return static_cast<std::size_t>(std::count_if(
        actions.begin(), actions.end(),
        [](const Action& action) { return std::holds_alternative<action::Reply>(action); }));
  }
  Response reply() const {  // the last one
    Response last;
    for (const Action& action : actions) {
      if (const auto* reply = std::get_if<action::Reply>(&action)) last = reply->response;
    }
    return last;
  }

  // Returns true if the agent has given up the neighbour on this link.
  bool closed(LinkId link) const {
    return std::any_of(actions.begin(), actions.end(), [&](const Action& action) {
      const auto* close = std::get_if<action::CloseLink>(&action);
      return close != nullptr && close->link == link;
    });
  }

  bool adopts = false;
  Agent agent{Role::agent};
  Actions actions;
  RequestId request = 0;
  bool traced = false;
  std::uint32_t ranks_of_node = 2;
  cache::PolicyKind policy = cache::PolicyKind::hcmab;
  RankSet stdin_ranks;
  RankSet terminal_ranks;
};

}  // namespace scela::nla::testing
