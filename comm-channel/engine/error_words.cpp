#include "comm-channel/engine/error_words.h"

#include <utility>

#include "common/core/text.h"

namespace scela::channel {

std::string tried_to(const char* what, const Pattern& pattern) {
  return cat(what, ' ', pattern.source == kAny ? "any rank" : cat("rank ", pattern.source),
             " with ", pattern.tag == kAny ? "any tag" : cat("tag ", pattern.tag));
}

ChannelError error_with(Code code, int peer, const std::string& tried) {
  return {code, peer, std::make_shared<const std::string>(cat(tried, ": ", name_of(code)))};
}

// Uses only members that stay the same while the operation lasts: another thread may be moving it.
ChannelError error_with(Code code, const Operation& operation) {
  if (operation.is_send)
    return error_with(code, operation.peer,
                      cat("send ", operation.length, " bytes to rank ", operation.peer,
                          " with tag ", operation.tag));
  return error_with(code, operation.pattern.source, tried_to("receive from", operation.pattern));
}

ChannelError error_of(Code code, int peer, std::string text) {
  return {code, peer, std::make_shared<const std::string>(std::move(text))};
}

ChannelError error_of_closing() {
  return error_of(
      Code::closed, -1,
      "the channel was closed before the request was complete: wait for requests first");
}

ChannelError error_not_received(int rank) {
  return error_of(Code::closed, rank,
                  cat("send to rank ", rank,
                      ": it has closed its channel, and did not receive the message: have it "
                      "receive all messages before it closes its channel"));
}

ChannelError error_of_numbers(int rank) {
  return error_of(Code::resources, rank,
                  cat("send to rank ", rank,
                      ": a million messages are under way (wait for some of them first)"));
}

Error buffer_gone(std::string tried) {
  return Error{ErrorKind::usage, std::move(tried), "", "there is no memory",
               "a buffer was freed, or may not be written; it belongs to the channel until its "
               "request is complete"};
}

Code code_for(const Error& why, Code otherwise) {
  return why.kind == ErrorKind::usage ? Code::argument : otherwise;
}

Code code_for(Outcome outcome, bool on_node) {
  if (outcome == Outcome::resources) return Code::resources;
  return on_node ? Code::argument : Code::device;
}

const ChannelError& error_of_child() {
  static const ChannelError& error = *new ChannelError{
      Code::closed, -1,
      std::make_shared<const std::string>(
          "use a channel of the parent process: a child (fork) has no part in it, and nothing was "
          "sent or received; let the parent communicate, or start the child by the launcher")};
  return error;
}

}  // namespace scela::channel
