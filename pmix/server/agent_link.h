// The server's end of the link to its agent, with the open questions. The upcalls and the server
// use it.
//
// post(), ask(), later() and after() may be called from any thread and do not block: libpmix calls
// from threads of its own, which must not block. The main thread calls run(), which writes what
// could not be written at once, reads the agent's messages, and calls the functions of answers.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/os/fd.h"
#include "pmix/core/pmix_messages.h"

namespace scela::pmix {

class AgentLink {
 public:
  // Gets the answer to a question, in the main thread. `blob` depends on the question.
  using OnAnswer = std::function<void(Status status, std::string blob)>;

  // Makes the descriptor by which threads wake the main thread. Returns false if that fails.
  bool open();

  using Limit = std::chrono::milliseconds;
  // Sends a message without waiting for an answer.
  void post(const Message& message);
  // The treatment of a question that takes longer than its limit. Either the link answers it with
  // `timed_out`, or the link sends GiveUp and the agent's answer decides.
  enum class Overdue { answered, given_up };
  // Sends a question, a message of pmix/core/pmix_messages.h with an id, which this call sets. The
  // main thread calls `then` once the agent has answered, or after `limit`.
  template <class Question>
  void ask(Question question, OnAnswer then, Limit limit = kEver,
           Overdue overdue = Overdue::answered) {
    question.id = expect(std::move(then), limit, overdue);
    post(Message(std::move(question)));
  }
  // Makes the main thread call `call` soon.
  void later(std::function<void()> call);
  // Makes the main thread call `call` after this time, in milliseconds.
  void after(Limit time, std::function<void()> call);

  static constexpr Limit kEver{0};  // no limit

  // Blocks until the agent's first message comes and returns it. Returns std::nullopt if the agent
  // is gone or sends a malformed message.
  std::optional<Message> first();
  // Serves the link until the agent is gone or sends a malformed message. Calls `other` for each
  // message that is no Answer.
  void run(const std::function<void(Message)>& other);
  // Blocks until all posted messages are written or the agent is gone.
  void flush();

 private:
  using Clock = std::chrono::steady_clock;

  // Keeps a question until its answer arrives or its limit has passed. Returns the id for it.
  Id expect(OnAnswer then, Limit limit, Overdue overdue);
  // These three return false if the agent is gone. They move the bytes that the socket has or takes
  // now, which may be none, and do not block. write_some() is called with lock_ held.
  bool read();
  bool write();
  bool write_some();
  // Returns true if bytes wait to be written.
  bool is_left();
  // Blocks until there is something to do. If `read` is false, messages of the agent do not count.
  void wait(bool read);
  // Calls the function of the answered question. Does nothing if it has been called already.
  void take(const msg::Answer& answer);
  // Calls the functions of later() and after() that are due, and ends questions that are overdue.
  void call_due();

  Fd agent_{kAgentDescriptor};
  Fd wake_;
  Decoder decoder_;

  std::mutex lock_;          // guards the members below
  std::string writing_;      // bytes that are being written
  std::size_t written_ = 0;  // how many of them are written
  std::string posted_;       // bytes that follow
  std::map<Id, OnAnswer> asked_;
  Id next_ = 1;
  std::multimap<Clock::time_point, std::pair<Id, Overdue>> limits_;
  std::vector<std::function<void()>> calls_;  // of later()
  std::multimap<Clock::time_point, std::function<void()>> delayed_;
};

}  // namespace scela::pmix
