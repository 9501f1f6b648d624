// The server's end of the link to its agent, and what was asked over it.
//
// post() and ask() may be called by any thread, and do not wait: libpmix calls from threads of its
// own, which must not block. run() is the main thread's: it writes what could not be written at
// once, reads what the agent says, and calls the answers' functions.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/os/fd.h"
#include "pmix/core/messages.h"

namespace scela::pmix {

class AgentLink {
 public:
  using OnAnswer = std::function<void(Status status, std::string blob)>;

  // Makes the descriptors that threads wake the main one by; false: there are none left.
  bool open();

  using Limit = std::chrono::milliseconds;
  void post(const Message& message);
  // What becomes of a question that takes longer than its limit: it is answered with `timed_out`,
  // or the agent is told, whose answer decides.
  enum class Overdue { answered, given_up };
  // Sets the message's id, and has `then` called once it is answered.
  template <class Question>
  void ask(Question question, OnAnswer then, Limit limit = kEver,
           Overdue overdue = Overdue::answered) {
    question.id = expect(std::move(then), limit, overdue);
    post(Message(std::move(question)));
  }
  // Has the main thread call it.
  void later(std::function<void()> call);
  // The same, when that time is over.
  void after(Limit time, std::function<void()> call);

  static constexpr Limit kEver{0};

  // The first message of the agent; an empty one when the agent is gone, or speaks nonsense.
  std::optional<Message> first();
  // Until the agent is gone. What is no answer goes to `other`.
  void run(const std::function<void(Message)>& other);
  // Waits until what was posted is written.
  void flush();

 private:
  using Clock = std::chrono::steady_clock;

  Id expect(OnAnswer then, Limit limit, Overdue overdue);
  bool read();
  bool write();
  bool write_some();  // under the lock
  bool is_left();
  void wait(bool read);
  void take(const msg::Answer& answer);
  void call_due();

  Fd agent_{kAgentDescriptor};
  Fd wake_;
  Decoder decoder_;

  std::mutex lock_;  // of what follows
  std::string writing_;
  std::size_t written_ = 0;
  std::string posted_;
  std::map<Id, OnAnswer> asked_;
  Id next_ = 1;
  std::multimap<Clock::time_point, std::pair<Id, Overdue>> limits_;
  std::vector<std::function<void()>> calls_;
  std::multimap<Clock::time_point, std::function<void()>> delayed_;
};

}  // namespace scela::pmix
