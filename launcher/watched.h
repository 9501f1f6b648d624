// A descriptor of ours that the event loop may watch without owning it.
//
// Asio stays in the .cpp file. One wait at a time; none is answered after close().
#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace scela {

class Watched {
 public:
  Watched(boost::asio::io_context& io, int fd);
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // False: this kind of descriptor cannot be watched (a regular file, /dev/null); it is always
  // ready.
  bool open();
  // Only of an open one that does not wait yet.
  void wait_readable(std::function<void()> handler);
  void wait_writable(std::function<void()> handler);
  bool waiting() const;
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela
