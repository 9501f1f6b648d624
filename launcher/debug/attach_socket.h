// The socket by which other processes of the user ask a running scela-run about its job, and the
// client's end of it (--attach).
//
// The socket has an abstract name with the process number of scela-run, so it is no file and ends
// with the process. Both ends check by the kernel's word (SO_PEERCRED) that the other is a process
// of the same user or of root; the client also checks that the other is the process that it asked
// for. A client sends one line, its request. The answer is a text that ends with an empty line;
// after it the connection stays open until the job ends, so its end tells the client so.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace boost::asio {
class io_context;
}

namespace scela {

// The end of a scela-run that has a job. Used in the thread of the session's loop; nothing in it
// blocks.
class AttachSocket {
 public:
  using Answer = std::function<void(std::string)>;
  // Takes a request, without its newline. It calls the answer once, at once or later, with a text
  // of which each line but the last is not empty.
  using Handler = std::function<void(std::string_view request, Answer)>;
  // Listens. Does nothing if the name is in use: the job runs without the socket then.
  AttachSocket(boost::asio::io_context& io, Handler handler);
  // Closes all connections.
  ~AttachSocket();
  AttachSocket(const AttachSocket&) = delete;
  AttachSocket& operator=(const AttachSocket&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The client's connection after the answer.
struct JobAnswer {
  std::string text;
  Fd connection;  // at its end the job has ended
};

// Asks the scela-run with this process number. Blocks until the answer is there. Error: there is no
// such scela-run with a job (io), it is another user's, or its job ended before the answer.
Result<JobAnswer> ask_job(pid_t launcher, std::string_view request);
// Blocks until the job has ended.
void wait_for_end(const JobAnswer& answer);

}  // namespace scela
