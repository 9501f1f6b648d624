// The server's end of the link to its agent, and what was asked over it.
//
// post() and ask() may be called by any thread, and only queue: libpmix calls from threads of its
// own, which must not block. run() is the main thread's: it writes what was queued, reads what the
// agent says, and calls the answers' functions.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "common/os/fd.h"
#include "pmix/core/messages.h"

namespace scela::pmix {

class AgentLink {
 public:
  using OnAnswer = std::function<void(Status status, std::string blob)>;

  // Makes the descriptors that threads wake the main one by; false: there are none left.
  bool open();

  void post(const Message& message);
  // Sets the message's id, and has `then` called once it is answered.
  template <class Question>
  void ask(Question question, OnAnswer then) {
    question.id = expect(std::move(then));
    post(Message(std::move(question)));
  }

  // The first message of the agent; an empty one when the agent is gone, or speaks nonsense.
  std::optional<Message> first();
  // Until the agent is gone. What is no answer goes to `other`.
  void run(const std::function<void(Message)>& other);
  // Waits until what was posted is written.
  void flush();

 private:
  Id expect(OnAnswer then);
  bool read();
  bool write();
  void wait(bool read);
  void take(const msg::Answer& answer);

  Fd agent_{kAgentDescriptor};
  Fd wake_;
  Decoder decoder_;
  std::string writing_;  // the main thread's
  std::size_t written_ = 0;

  std::mutex lock_;  // of what follows
  std::string posted_;
  std::map<Id, OnAnswer> asked_;
  Id next_ = 1;
};

}  // namespace scela::pmix
