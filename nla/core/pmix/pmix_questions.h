// The open questions of a node's PMIx server to the agent, and the numbers of all requests that
// PmixService makes of the agent. An agent is the process of the job on one node. The PMIx server
// is a process beside it, to which the ranks of the node are connected (libpmix). A question is a
// request of the server that the agent answers later.
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

// Names the fences of one set of ranks with one name; such fences follow each other
// (pmix_fences.h). The name is empty for a plain fence, and that of a group otherwise.
struct PmixGathering {
  RankSet ranks;
  std::string name;
  friend auto operator<=>(const PmixGathering&, const PmixGathering&) = default;
};

// One open question.
struct PmixQuestion {
  pmix::Id id = 0;                          // the server's number of the question
  Rank rank = 0;                            // the rank that the question is for
  std::optional<PmixGathering> fence = {};  // the gathering, if it is a fence
  // The status that the server gets if the agent refuses the request.
  pmix::Status refused = pmix::Status::failed;
  // The name that the rank waits for (PMIx_Lookup with a wait), else empty.
  std::string name = {};
};

class PmixQuestions {
 public:
  // `tell` tells the server, `ask` asks the agent in the name of a rank. They are called only from
  // within calls of this object.
  PmixQuestions(std::function<void(pmix::Message)> tell,
                std::function<void(Rank, RequestId, Request)> ask)
      : tell_(std::move(tell)), ask_(std::move(ask)) {}

  // Asks the agent in the name of PmixQuestion::rank, under a new number. The question stays open
  // until take() or take_of() returns it.
  void ask(PmixQuestion question, Request request);
  // Makes a request that is no question of the server. Its answer is ignored.
  void send(Rank rank, Request request) { ask_(rank, next_++, std::move(request)); }
  // Returns the open question with this number, which the agent has answered, and forgets it.
  // Returns std::nullopt if there is none.
  std::optional<PmixQuestion> take(RequestId number);
  // Returns and forgets the questions of a rank, in the order in which they were asked.
  std::vector<PmixQuestion> take_of(Rank rank);
  // Call it if the server waits no more for the name of question `id`. The root, which has the
  // names of the job, says what has become of it: the name may have been published at this moment.
  // Does nothing if the answer is on its way.
  void give_up(pmix::Id id);
  // Returns the number of open questions of a rank with this value of PmixQuestion::refused.
  std::size_t count(Rank rank, pmix::Status refused) const;

  // Answers a question of the server. `blob` is the result, if there is one.
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
