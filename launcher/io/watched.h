// Waits for a descriptor on the event loop without owning the descriptor. The session, HostFinder
// and StdinReader use it, in the loop's thread.
//
// Asio is used in the .cpp file only. Only one wait at a time is allowed, and no handler is called
// after close().
#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace scela {

// Watches one descriptor.
class Watched {
 public:
  // `io` must outlive this object. `fd` must stay open until open() has returned. The constructor
  // does not watch yet.
  Watched(boost::asio::io_context& io, int fd);
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // Starts to watch a duplicate of the descriptor. Returns true also if it is watched already.
  // Returns false if descriptors of this kind cannot be watched (a regular file, /dev/null), as
  // they are always ready. Also returns false if no descriptor is left.
  bool open();
  // These call `handler` once, from the loop, when the descriptor is readable, or writable. They
  // require that open() has returned true and that no other wait is pending.
  void wait_readable(std::function<void()> handler);
  void wait_writable(std::function<void()> handler);
  // Returns true if a wait is pending.
  bool waiting() const;
  // Ends the watch and closes the duplicate. A pending handler is not called any more.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela
