// A PMI-1 session under test. Its requests are read as text, and its answers come one after the
// other.
#pragma once

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/protocol/limits.h"
#include "pmi/protocol/pmi1/pmi1.h"
#include "tests/unit/pmi/protocol/request_text.h"

namespace scela::pmi {

// The test answers the requests of this session one after the other.
class LockStep : public Pmi1Session {
 public:
  using Pmi1Session::answer;
  using Pmi1Session::Pmi1Session;
  std::optional<SessionRequest> next() {
    auto request = Pmi1Session::next();
    if (request) ++number_;
    return request;
  }
  void answer(const ask::Response& answer) { Pmi1Session::answer(number_, answer); }

 private:
  ask::RequestId number_ = 0;
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
