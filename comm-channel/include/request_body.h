// The requests that the channel does not complete by itself, and what moves them: the collective
// operations of a communicator. The header is not installed. The calls follow the rule of the
// request's user for threads.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "comm-channel/include/scela/request.h"

namespace scela::channel {

class RequestMover;

// The state behind a Request. Its functions do what those of Request say.
class RequestBody {
 public:
  RequestBody() = default;
  RequestBody(const RequestBody&) = delete;
  RequestBody& operator=(const RequestBody&) = delete;

  virtual bool test() = 0;
  virtual Status wait(Timeout timeout) = 0;
  virtual const Status& status() = 0;
  virtual Status start() = 0;
  virtual bool persistent() const = 0;
  virtual std::string describe() const = 0;

  // Returns true if the request is complete and wait() has not returned its status yet. Does not
  // block, and moves nothing.
  virtual bool is_over() const = 0;
  // Returns what moves the request while it is under way, otherwise null.
  virtual RequestMover* mover() const = 0;
  // The Request is destroyed: ends what is under way, and frees this object unless others use it.
  virtual void release() = 0;

 protected:
  virtual ~RequestBody() = default;
};

// A mover moves several requests, so that one wait can serve them and messages.
class RequestMover {
 public:
  // Moves what the caller has to move. Never blocks.
  virtual void progress() = 0;
  // Adds requests of messages to the vector. One of them is complete when progress() has something
  // to do, or when a request has ended that was not over before this call. They are valid until the
  // mover's next call. Returns false if the mover cannot name its messages; the wait then looks now
  // and then.
  virtual bool add_requests(std::vector<Request*>& all) = 0;
  // Blocks until one of these requests is over, and returns its index. Returns bodies.size() if
  // none is over before the timeout. Null entries, and those that another mover moves, are passed
  // over.
  virtual std::size_t wait_any(std::span<RequestBody* const> bodies, Timeout timeout) = 0;

 protected:
  virtual ~RequestMover() = default;
};

}  // namespace scela::channel
