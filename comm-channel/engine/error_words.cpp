#include "comm-channel/engine/error_words.h"

#include <utility>

#include "common/core/text.h"

namespace scela::channel {

std::string tried_to(const char* what, const Pattern& pattern) {
  return cat(what, ' ', pattern.source == kAny ? "any rank" : cat("rank ", pattern.source),
             " with ", pattern.tag == kAny ? "any tag" : cat("tag ", pattern.tag));
}

Status error_with(Code code, int peer, const std::string& tried) {
  return {code, peer, cat(tried, ": ", name_of(code))};
}

// Uses only members that stay the same while the operation lasts: another thread may be moving it.
std::string what_of(const Operation& operation) {
  if (operation.is_send)
    return cat("send ", operation.length, " bytes to rank ", operation.peer, " with tag ",
               operation.tag);
  return tried_to("receive from", operation.pattern);
}

Status error_with(Code code, const Operation& operation) {
  return error_with(code, operation.is_send ? operation.peer : operation.pattern.source,
                    what_of(operation));
}

Status error_of(Code code, int peer, std::string text) {
  return {code, peer, std::move(text)};
}

Status error_of_closing() {
  return error_of(
      Code::closed, -1,
      "the channel was closed before the request was complete: wait for requests first");
}

Status error_not_received(int rank) {
  return error_of(Code::closed, rank,
                  cat("send to rank ", rank,
                      ": it has closed its channel, and did not receive the message: have it "
                      "receive all messages before it closes its channel"));
}

Status error_of_solitude() {
  return error_of(Code::peer_ended, -1, "receive from any rank: all others have ended");
}

Status error_of_numbers(int rank) {
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
  return why.kind == ErrorKind::usage ? Code::bad_buffer : otherwise;
}

Code code_for(Outcome outcome, bool on_node) {
  if (outcome == Outcome::resources) return Code::resources;
  return on_node ? Code::bad_buffer : Code::device;
}

const Status& error_of_child() {
  static const Status& error = *new Status{
      Code::closed, -1,
      "use a channel of the parent process: a child (fork) has no part in it, and nothing was sent "
      "or received; let the parent communicate, or start the child by the launcher"};
  return error;
}

}  // namespace scela::channel
