// Asks all agents of the running job about their ranks, and collects the answers
// (nla/core/wire/inspection.h).
//
// One question is asked at a time; others wait for their turn. Each ends within its limit and
// kSlack, whatever nodes do. Used in the thread of the session's loop; nothing here blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/core/rank_set.h"
#include "nla/core/tree/actions.h"

namespace boost::asio {
class io_context;
}

namespace scela {

// The answers to one question.
struct InspectionAnswers {
  std::map<std::uint32_t, std::string> of_nodes;  // by node number; not trusted
  RankSet silent;                                 // numbers of nodes that have not answered in time
};

class Inspections {
 public:
  // The time that answers may take on their way, beside the limit of the question.
  static constexpr std::chrono::milliseconds kSlack{5000};
  using Done = std::function<void(InspectionAnswers)>;
  // Functions that the session provides.
  struct Hooks {
    std::function<void(nla::Event)> post;  // sends an event to the root agent
    std::function<RankSet()> nodes;        // the numbers of the nodes that have an agent
  };

  Inspections(boost::asio::io_context& io, Hooks hooks);
  ~Inspections();

  // Asks the question. `limit` is the time that each node gets to look at its ranks. `done` is
  // called once, unless this object is destroyed before. `words` are those of Inspection::tool.
  void ask(nla::Inspection what, std::chrono::milliseconds limit, Done done,
           std::vector<std::string> words = {});
  // Takes a piece of an answer.
  void on(const nla::action::Inspected& piece);
  // Call it if a node has no agent any more: it is not waited for.
  void node_failed(std::uint32_t node);

 private:
  struct Question;
  struct Timer;
  // Asks the first question of the queue.
  void begin();
  // Hands the answers on, and asks the next question.
  void end();

  const Hooks hooks_;
  std::deque<Question> questions_;  // the first one was asked
  RankSet open_;                    // numbers of nodes that are to answer
  InspectionAnswers answers_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace scela
