// Reads the standard input of scela-run (descriptor 0), which goes to ranks by way of the agents.
// The session uses it; it runs on the event loop, in its thread, and does not block.
//
// It reads only as many bytes as the agents can take. It reads a terminal only from the foreground:
// SIGTTIN must not stop a background job for input that was not requested.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/core/chunk.h"

namespace boost::asio {
class io_context;
}

namespace scela {

// Reads descriptor 0 of this process.
class StdinReader {
 public:
  // The functions that the owner provides. They are called from the event loop.
  struct Hooks {
    // Called before a read if input is available and this process is not in the background. It is
    // not called for input that cannot be waited for, such as a file.
    std::function<void()> in_foreground;
    // Gets each piece that was read, at most 64 KiB. `end` is set once, with an empty piece: no
    // more input comes. A read error is an end too.
    std::function<void(Chunk bytes, bool end)> read;
  };

  // `io` must outlive this object. The first read needs a call of allow().
  StdinReader(boost::asio::io_context& io, Hooks hooks);
  ~StdinReader();
  StdinReader(const StdinReader&) = delete;
  StdinReader& operator=(const StdinReader&) = delete;

  // Allows `bytes` more bytes to be read, in addition to those allowed before, and starts to wait
  // for input.
  void allow(std::uint64_t bytes);
  // Stops reading for good, whatever was allowed.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scela
