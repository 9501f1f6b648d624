// The frames that wait to be written to a link's stream, in the order in which they leave. A link
// is the connection between two agents.
//
// Messages may be held until the link has changed to another stream; frames about the link itself
// never are. Link uses this part. Values only, for one thread.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <string>

#include "nla/core/wire/agent_messages.h"

namespace scela::nla {

class LinkQueue {
 public:
  // Holds messages that are added from now on, until add_change().
  void hold() { holding_ = true; }
  // Appends a message; it is held if hold() was called and add_change() was not.
  void add(Encoded message);
  // Appends a frame about the link itself, which is never held.
  void add_link_frame(std::string frame);
  // Appends the last frame on the present stream. Messages that were held follow it.
  void add_change(std::string frame);

  // Returns true if nothing can be written now. Messages that are held do not count.
  bool empty() const { return items_.empty(); }
  // Returns the number of bytes that are left, with those that are held.
  std::size_t bytes() const { return bytes_; }
  // Sets the first of `parts`, at most `max`, to the bytes to write next, and returns their number.
  // They end with the last frame on the present stream, if it is among them.
  int gather(iovec* parts, int max) const;
  // Removes the first `bytes` of those that gather() named: they were written. Returns true if the
  // present stream has got its last frame.
  bool wrote(std::size_t bytes);
  // Drops all frames, with those that are held.
  void clear();

 private:
  // A frame that waits.
  struct Item {
    Encoded message;
    bool is_last = false;  // the last one on this stream
  };

  std::deque<Item> items_;
  std::deque<Item> held_;
  std::size_t offset_ = 0;  // written bytes of the first item
  std::size_t bytes_ = 0;
  bool holding_ = false;
};

}  // namespace scela::nla
