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
                      ": the receiver closed its channel without receiving the message (receive "
                      "all messages before closing the channel)"));
}

Status error_of_solitude() {
  return error_of(Code::peer_ended, -1, "receive from any rank: all other ranks have ended");
}

Status error_of_numbers(int rank) {
  return error_of(
      Code::resources, rank,
      cat("send to rank ", rank,
          ": the maximum of a million messages is under way (wait for some of them first)"));
}

Error buffer_gone(std::string tried) {
  return Error{ErrorKind::usage, std::move(tried), "", "the memory is not accessible",
               "a buffer was freed or is not writable; keep it unchanged until its request is "
               "complete"};
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
      "use a channel in a child process (fork): it belongs to the parent, and nothing was sent or "
      "received; communicate in the parent, or start the child with the launcher"};
  return error;
}

}  // namespace scela::channel
