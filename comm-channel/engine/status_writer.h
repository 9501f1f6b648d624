// Writes parts of a Status, for the channel, which reuses the statuses of its operations. The
// caller sees to it that no other thread uses the status.
#pragma once

#include <cstddef>
#include <utility>

#include "comm-channel/include/scela/status.h"

namespace scela::channel {

struct StatusWriter {
  // Sets the message that was received or probed, and leaves the error.
  static void set_message(Status& status, int source, int tag, std::size_t bytes) {
    status.source_ = source;
    status.tag_ = tag;
    status.bytes_ = bytes;
  }
  // Sets the error, and leaves the message.
  static void set_error(Status& status, const Status& error) {
    status.code_ = error.code_;
    status.rank_ = error.rank_;
    status.message_ = error.message_;
  }
  static void set_error(Status& status, Status&& error) {
    status.code_ = error.code_;
    status.rank_ = error.rank_;
    status.message_ = std::move(error.message_);
  }
  // Removes the error, and leaves the message. Most statuses have no error, so this is cheap then.
  static void clear_error(Status& status) {
    if (!status.ok()) set_error(status, Status());
  }
  static Status of_message(int source, int tag, std::size_t bytes) {
    Status status;
    set_message(status, source, tag, bytes);
    return status;
  }
};

}  // namespace scela::channel
