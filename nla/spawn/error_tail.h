// The last output of a program to standard error, for the text of an error. ErrorTail reads all of
// it, so that the program never waits, and keeps at most 4 KiB. The ways to start an agent on
// another node use it.
//
// Event loop, one thread; never blocks. Pending handlers do nothing once the object is destroyed.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "common/os/asio.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"

namespace scela::nla {

class ErrorTail {
 public:
  // The last bytes that are kept; at most twice as many stay.
  static constexpr std::size_t kKept = 2048;

  // Uses this loop, which is borrowed.
  explicit ErrorTail(boost::asio::io_context& io) : io_(io) {}

  // Follows this pipe from now on. The text of an earlier pipe is dropped.
  void follow(Fd pipe) {
    text_.clear();
    set_nonblocking(pipe.get());
    pipe_ = std::make_shared<boost::asio::posix::stream_descriptor>(io_, pipe.release());
    wait();
  }

  // Returns the text, including what is in the pipe now.
  const std::string& text() {
    read();
    return text_;
  }

 private:
  // Reads whenever the pipe has bytes, until it ends.
  void wait() {
    pipe_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this, pipe = std::weak_ptr(pipe_)](const boost::system::error_code& error) {
                        if (error || pipe.expired()) return;
                        if (read()) wait();
                      });
  }

  // Reads all that is in the pipe now. Returns false if no more will come.
  bool read() {
    char bytes[512];
    while (pipe_) {
      const ssize_t got =
          retry([&] { return ::read(pipe_->native_handle(), bytes, sizeof bytes); });
      if (got <= 0) return got < 0 && errno == EAGAIN;
      text_.append(bytes, static_cast<std::size_t>(got));
      if (text_.size() > 2 * kKept) text_.erase(0, text_.size() - kKept);
    }
    return false;
  }

  boost::asio::io_context& io_;
  std::shared_ptr<boost::asio::posix::stream_descriptor> pipe_;
  std::string text_;
};

// Returns the last line of `text` that is not blank, or an empty string.
std::string last_line(const std::string& text);

}  // namespace scela::nla
