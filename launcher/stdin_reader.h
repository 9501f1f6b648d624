// Standard input of scela-run on its way to the tree.
//
// Reads only what the tree can take, and a terminal only from the foreground: a job in the
// background must not be stopped by SIGTTIN for input nobody asked for. Runs on the event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/core/chunk.h"

namespace boost::asio {
class io_context;
}

namespace scela {

class StdinReader {
 public:
  struct Hooks {
    // Something is there, and we are not in the background; before it is read. Not for what cannot
    // be waited for, as a file.
    std::function<void()> in_foreground;
    std::function<void(Chunk bytes, bool end)> read;
  };

  StdinReader(boost::asio::io_context& io, Hooks hooks);
  ~StdinReader();
  StdinReader(const StdinReader&) = delete;
  StdinReader& operator=(const StdinReader&) = delete;

  // So many bytes more may be read.
  void allow(std::uint64_t bytes);
  // No more, whatever was allowed.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scela
