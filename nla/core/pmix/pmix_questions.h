// The questions of a node's PMIx server that the agent is to answer, and the numbers of all
// requests that PmixService makes of the agent.
//
// Pure, like PmixService (pmix_service.h), which owns this part and lends it to the others; one
// thread at a time calls it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/wire/request.h"
#include "pmix/core/messages.h"

namespace scela::nla {

// Fences with the same set and name; they follow each other (pmix_fences.h).
struct PmixGathering {
  RankSet ranks;
  std::string name;
  friend auto operator<=>(const PmixGathering&, const PmixGathering&) = default;
};

struct PmixQuestion {
  pmix::Id id = 0;
  Rank rank = 0;                                // the rank that the question is for
  std::optional<PmixGathering> fence = {};      // the gathering, if it is a fence
  pmix::Status refused = pmix::Status::failed;  // the status of a refusal
  std::string name = {};                        // the name that it waits for
};

class PmixQuestions {
 public:
  // `tell` tells the server, `ask` asks the agent in the name of a rank. They are called only from
  // within calls of this object.
  PmixQuestions(std::function<void(pmix::Message)> tell,
                std::function<void(Rank, RequestId, Request)> ask)
      : tell_(std::move(tell)), ask_(std::move(ask)) {}

  // Asks the agent in the name of PmixQuestion::rank. The question stays until it is taken.
  void ask(PmixQuestion question, Request request);
  // Makes a request that is no question of the server. Its answer is ignored.
  void send(Rank rank, Request request) { ask_(rank, next_++, std::move(request)); }
  // Returns the question that the agent has answered, and forgets it. Returns std::nullopt if there
  // is none with this number.
  std::optional<PmixQuestion> take(RequestId number);
  // Returns and forgets the questions of a rank, in the order in which they were asked.
  std::vector<PmixQuestion> take_of(Rank rank);
  // The server waits no more for the name of this question. The root says what has become of it:
  // the name may have been published at this moment. Does nothing if the answer is on its way.
  void give_up(pmix::Id id);
  // Returns the number of open questions of a rank with this status of a refusal.
  std::size_t count(Rank rank, pmix::Status refused) const;

  // Answers a question of the server.
  void answer(pmix::Id id, pmix::Status status, std::string blob = {}) {
    tell_(pmix::msg::Answer{id, status, std::move(blob)});
  }

 private:
  std::function<void(pmix::Message)> tell_;
  std::function<void(Rank, RequestId, Request)> ask_;
  std::map<RequestId, PmixQuestion> open_;
  RequestId next_ = 1;
};

}  // namespace scela::nla
