// Nodes with ranks that speak PMIx, over a tree of agents. The test plays the servers behind their
// services.
#pragma once

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/pmix/pmix_service.h"
#include "tests/support/tree_harness.h"

namespace scela::nla::testing {

// The servers' services of `hosts` nodes with `ppn` ranks each, over a tree of agents.
struct PmixNodes : TreeHarness {
  struct Node {
    RankSet own;
    std::unique_ptr<PmixService> service;
    std::vector<pmix::Message> told;
    std::size_t answered = 0;  // how many of them put() has answered
  };

  PmixNodes(std::uint32_t hosts, std::uint32_t ppn, OnFailure on_failure = OnFailure::kill,
            std::uint32_t degree = 2, std::uint32_t patience_ms = 0)
      : TreeHarness(hosts, degree), work(job(hosts, ppn, on_failure)), nodes(hosts) {
    shell.adopt_ms = patience_ms;
    begin();
    launch(work);
    REQUIRE(shell.launched);
    for (std::uint32_t i = 0; i < hosts; ++i) {
      Node& node = nodes[i];
      node.own = work.map.ranks_of(i);
      node.service = std::make_unique<PmixService>(
          work, node.own, i,
          PmixService::Callbacks{
              [&node](pmix::Message message) { node.told.push_back(std::move(message)); },
              [this, i](Rank rank, RequestId id, Request request) {
                // The service also asks in the name of a rank that has ended.
                if (agent_of(i) >= 0) post(agent_of(i), event::Asked{rank, id, std::move(request)});
              }});
      node.service->tell_worlds();
      serve(node, node.own);
    }
  }
  void serve(Node& node, const RankSet& ranks) {
    ranks.for_each([&](Rank rank) {
      REQUIRE(node.service->receive(pmix::msg::Environment{rank, {"PMIX_RANK=x"}}));
    });
    REQUIRE(node.service->receive(pmix::msg::Ready{}));
  }
  // Adds the worlds that the agents know by now, and tells the servers of them.
  void add_worlds() {
    for (; work.worlds.size() < shell.added_worlds.size();) {
      const World world = shell.added_worlds[work.worlds.size()];
      REQUIRE(work.add(world));
      for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        const RankSet more = work.map.ranks_of(i).intersection(world.ranks());
        nodes[i].own.add(more);
        nodes[i].service->tell_worlds();
        serve(nodes[i], more);
      }
    }
  }
  // Lets the agents work, and tells the services of their answers and news until there are no more.
  void settle() {
    run();
    add_worlds();
    while (passed < programs.answers.size() || tell_news()) {
      if (passed < programs.answers.size()) {
        const auto one = programs.answers[passed++];
        nodes[*work.map.node_of(one.rank)].service->reply({one.rank, one.id, one.response});
      }
      run();
    }
  }
  bool tell_news() {
    bool any = false;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (agent_of(i) < 0) continue;
      for (const Action& action : std::exchange(node(i).news, {})) {
        any = true;
        PmixService& service = *nodes[i].service;
        if (const auto* failed = std::get_if<action::RanksFailed>(&action))
          service.peers_failed(failed->ranks);
        if (const auto* lost = std::get_if<action::NodesLost>(&action))
          service.nodes_lost(lost->nodes);
        if (const auto* again = std::get_if<action::Reconnected>(&action))
          service.reconnected(again->ranks);
      }
    }
    return any;
  }
  void say(std::uint32_t node, pmix::Message message) {
    REQUIRE(nodes[node].service->receive(std::move(message)));
    settle();
  }
  // Returns the answer to a server's question, or nullptr if there is none yet.
  const pmix::msg::Answer* answer_of(std::uint32_t node, pmix::Id id) const {
    for (const pmix::Message& message : nodes[node].told) {
      const auto* answer = std::get_if<pmix::msg::Answer>(&message);
      if (answer != nullptr && answer->id == id) return answer;
    }
    return nullptr;
  }
  // Plays a server with ranks that have put `blob`. It answers what it has been asked since the
  // last call.
  void put(std::uint32_t node, const std::string& blob) {
    const std::vector<pmix::Message> told = nodes[node].told;
    for (std::size_t i = nodes[node].answered; i < told.size(); ++i) {
      const auto* asked = std::get_if<pmix::msg::DataAsked>(&told[i]);
      if (asked != nullptr) say(node, pmix::msg::Data{asked->id, pmix::Status::ok, blob});
    }
    nodes[node].answered = told.size();
  }
  template <class M>
  const M* last(std::uint32_t node) const {
    return nodes[node].told.empty() ? nullptr : std::get_if<M>(&nodes[node].told.back());
  }

  Job work;
  std::vector<Node> nodes;
  std::size_t passed = 0;
};

}  // namespace scela::nla::testing
