// A PMI-1 session under test. Its requests are read as text, and its answers come one after the
// other.
#pragma once

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/protocol/limits.h"
#include "pmi/protocol/pmi1.h"
#include "tests/unit/pmi/protocol/spawn_text.h"

namespace scela::pmi {

// The test answers the requests of this session one after the other.
class LockStep : public Pmi1Session {
 public:
  using Pmi1Session::answer;
  using Pmi1Session::Pmi1Session;
  std::optional<Request> next() {
    auto request = Pmi1Session::next();
    if (request) ++number_;
    return request;
  }
  void answer(const Answer& answer) { Pmi1Session::answer(number_, answer); }

 private:
  RequestId number_ = 0;
};

inline JobFacts facts() {
  return {.rank = 1,
          .size = 4,
          .appnum = 2,
          .universe_size = 16,
          .kvsname = "kvs_0",
          .process_mapping = "(vector,(0,2,2))",
          .node_ranks = RankSet::run(0, 2)};
}

inline const std::string kInit = "cmd=init pmi_version=1 pmi_subversion=1\n";

inline std::string name_of(const Request& request) {
  if (const auto* put = std::get_if<ask::Put>(&request))
    return "put " + put->key + "=" + put->value;
  if (const auto* get = std::get_if<ask::Get>(&request)) return "get " + get->key;
  if (std::holds_alternative<ask::Fence>(request)) return "fence";
  if (const auto* fence = std::get_if<ask::GroupFence>(&request)) {
    return "fence " + fence->group.text() + " tag " + std::to_string(fence->tag);
  }
  if (const auto* publish = std::get_if<ask::Publish>(&request)) {
    return "publish " + publish->name + "=" + publish->port;
  }
  if (const auto* lookup = std::get_if<ask::Lookup>(&request)) return "lookup " + lookup->name;
  if (const auto* gone = std::get_if<ask::Unpublish>(&request)) return "unpublish " + gone->name;
  if (std::holds_alternative<ask::Failed>(request)) return "failed";
  if (const auto* left = std::get_if<ask::Left>(&request))
    return "left " + std::to_string(left->about);
  if (const auto* spawn = std::get_if<ask::Spawn>(&request)) return text_of(*spawn);
  if (const auto* abort = std::get_if<ask::Abort>(&request)) {
    return "abort " + std::to_string(abort->code) + " " + abort->message;
  }
  return "violation: " + std::get<ask::Violation>(request).why;
}

// Feeds bytes and returns the requests to the job, without answering them.
inline std::vector<std::string> feed(LockStep& session, std::string_view bytes) {
  session.receive(bytes);
  std::vector<std::string> asked;
  while (auto request = session.next())
    asked.push_back(name_of(*request));
  return asked;
}

// Returns a session that has read init, with its output dropped.
inline LockStep ready() {
  LockStep session(facts());
  REQUIRE(feed(session, kInit).empty());
  REQUIRE(session.take_output() == "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n");
  return session;
}

// Returns the session's own answer to one line.
inline std::string answer_to(std::string_view line) {
  LockStep session = ready();
  CHECK(feed(session, std::string(line) + "\n").empty());
  return session.take_output();
}

inline std::string violation_of(LockStep session, std::string_view bytes) {
  const auto asked = feed(session, bytes);
  REQUIRE(asked.size() == 1);
  CHECK(feed(session, "cmd=get_maxes\n").empty());
  CHECK(session.take_output() == "");
  return asked.front();
}

}  // namespace scela::pmi
