// The byte stream under a link: a descriptor, two of them, an ssh channel, a TLS connection.
//
// Never blocks. A handler is called once, from the event loop, never from within a call of these
// functions; it is forgotten when the transport is closed or destroyed. At most one wait of each
// kind at a time.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "common/os/fd.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

class Transport {
 public:
  using Handler = std::function<void()>;

  virtual ~Transport() = default;

  // As read(2) and writev(2) on a non-blocking descriptor: bytes; 0 at the end of what the peer
  // says; -1 with errno, EAGAIN when there is nothing or no room now.
  virtual ssize_t read(char* bytes, std::size_t size) = 0;
  virtual ssize_t write(const iovec* parts, int count) = 0;

  virtual void wait_readable(Handler handler) = 0;
  virtual void wait_writable(Handler handler) = 0;
  // After read() has told the end: until nobody holds the other end any more.
  virtual void wait_closed(Handler handler) = 0;

  virtual void end_writing() = 0;  // the peer reads the end; reading goes on
  virtual void close() = 0;
  virtual bool is_open() const = 0;

  // Why the stream broke, where read() has no errno that says it.
  virtual std::string trouble() const { return {}; }
};

// Over one connected stream descriptor.
std::unique_ptr<Transport> make_fd_transport(boost::asio::io_context& io, Fd stream);
// Over a pair of pipes, as a command's standard input and output are.
std::unique_ptr<Transport> make_pipe_transport(boost::asio::io_context& io, Fd in, Fd out);

}  // namespace scela::nla
