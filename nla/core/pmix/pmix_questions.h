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

#include "nla/core/wire/request_names.h"
#include "pmix/core/pmix_messages.h"

namespace scela::nla {

// Names the fences of one set of ranks with one name; such fences follow each other
// (pmix_fences.h). The name is empty for a plain fence, and that of a group otherwise.
struct PmixGathering {
  RankSet ranks;
  std::string name;
  friend auto operator<=>(const PmixGathering&, const PmixGathering&) = default;
};

// A question of the server that the agent has not answered yet.
struct PmixQuestion {
  pmix::Id id = 0;                              // the server's
  Rank rank = 0;                                // the rank that the question is for
  std::optional<PmixGathering> fence = {};      // the gathering, if it is a fence
  pmix::Status refused = pmix::Status::failed;  // the status of a refusal
  std::string name = {};                        // of a look-up that waits
};

class PmixQuestions {
 public:
  // `tell` sends a message to the server. `ask` makes a request of the agent, with a number, in the
  // name of a rank. They are called only from within calls of this object.
  PmixQuestions(std::function<void(pmix::Message)> tell,
                std::function<void(Rank, RequestId, Request)> ask)
      : tell_(std::move(tell)), ask_(std::move(ask)) {}

  // Makes a request of the agent in the name of question.rank, under a new number. The question
  // stays open until take() or take_of() returns it.
  void ask(PmixQuestion question, Request request);
  // Makes a request that is no question of the server. Its answer is ignored.
  void send(Rank rank, Request request) { ask_(rank, next_++, std::move(request)); }
  // Returns the question that was asked under this number, which the agent has answered, and
  // removes it. Returns std::nullopt if there is none.
  std::optional<PmixQuestion> take(RequestId number);
  // Returns the open questions of a rank, in the order in which they were asked, and removes them.
  std::vector<PmixQuestion> take_of(Rank rank);
  // Makes the agent end the wait of a look-up. `id` is the number that the server gave it. The
  // question stays open: its answer is the value, if the name was published at this moment, or else
  // `timed_out`. Does nothing if there is no such look-up.
  void give_up(pmix::Id id);
  // Returns the number of open questions of a rank that have this PmixQuestion::refused.
  std::size_t count(Rank rank, pmix::Status refused) const;

  // Sends the server the answer to its question `id`. `blob` depends on the question.
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
