// The byte stream under a link between two agents: a descriptor, two of them, an ssh channel, a TLS
// connection. Links and the ways to start an agent use it.
//
// One thread; never blocks. A handler is called once, from the event loop, and never from within a
// call of these functions. It is dropped when the transport is closed or destroyed. At most one
// wait of each kind may be pending at a time.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "common/os/fd.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

// A byte stream in both directions, with the contract above.
class Transport {
 public:
  using Handler = std::function<void()>;

  virtual ~Transport() = default;

  // Work as read(2) and writev(2) on a non-blocking descriptor. They return the number of bytes, or
  // 0 at the end of the peer's data. They return -1 with errno on an error; EAGAIN says that there
  // are no bytes or no room now.
  virtual ssize_t read(char* bytes, std::size_t size) = 0;
  virtual ssize_t write(const iovec* parts, int count) = 0;

  // Calls the handler once, when read() would not return EAGAIN.
  virtual void wait_readable(Handler handler) = 0;
  // Calls the handler once, when write() would not return EAGAIN.
  virtual void wait_writable(Handler handler) = 0;
  // Calls the handler when no process holds the other end any more. To be called after read() has
  // returned 0.
  virtual void wait_closed(Handler handler) = 0;

  // Lets write() take no more while this many bytes are on their way, or have not been passed on by
  // the sshd of the other side. Only streams of ssh know that; others ignore the call.
  virtual void limit_ahead(std::size_t bytes) { static_cast<void>(bytes); }

  // Breaks the stream if the machine of the other end does not answer for the limit, though no
  // process there need say anything. Streams that do not own a connection ignore the call.
  virtual void limit_silence(std::chrono::milliseconds limit) { static_cast<void>(limit); }

  // Ends the own direction: the peer reads the end of the data. Reading goes on.
  virtual void end_writing() = 0;
  // Closes both directions.
  virtual void close() = 0;
  // Returns true until close() is called.
  virtual bool is_open() const = 0;

  // Returns why the stream broke, if the errno of read() does not say it; otherwise an empty
  // string.
  virtual std::string trouble() const { return {}; }
};

// Makes a transport over one connected stream descriptor.
std::unique_ptr<Transport> make_fd_transport(boost::asio::io_context& io, Fd stream);
// Makes a transport over a pair of pipes, as a command's standard input and output are.
std::unique_ptr<Transport> make_pipe_transport(boost::asio::io_context& io, Fd in, Fd out);

}  // namespace scela::nla
