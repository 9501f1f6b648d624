// The RunFailure of a run is its first fault, and the note that the run sends from then on instead
// of each message, so that the ranks that wait for it learn of the fault. A Run records faults and
// its messages read notes. One thread at a time uses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "collectives/core/task_list.h"
#include "collectives/executors/run/message_transport.h"
#include "collectives/executors/run/run_plan.h"

namespace scela::collectives {

// The first fault of a run, and the task at which it came.
struct RunError {
  Fault fault;             // its rank is numbered as in the list
  std::uint32_t task = 0;  // index in the list, or kNoTask
  // Returns the fault's words, for people.
  std::string text() const;
};

// A note is sent instead of a message that its receiver expects, because its sender has failed. It
// names the rank at fault. The length tells a note from a message, so a receive of a short message
// needs room for a note.
class FailureNote {
 public:
  static constexpr std::size_t kBytes = 24;
  // The room that any note needs: it is longer if the message has kBytes itself.
  static constexpr std::size_t kRoom = kBytes + 1;

  FailureNote() = default;
  // Makes the note about a fault, with a rank numbered as in the list.
  explicit FailureNote(const Fault& fault);
  // Returns the note, as it is sent instead of a message of `message` bytes.
  std::span<const std::byte> instead_of(std::uint64_t message) const {
    return std::span(bytes_).first(length(message));
  }
  // Returns the length of a note that is sent instead of a message of `message` bytes.
  static std::size_t length(std::uint64_t message) {
    return message == kBytes ? kBytes + 1 : kBytes;
  }
  // Returns the fault that is in a note from the rank `sender`. Returns std::nullopt if the bytes,
  // which must be at least kBytes, are not a note.
  static std::optional<Fault> read(std::span<const std::byte> bytes, int sender);

 private:
  std::array<std::byte, kRoom> bytes_{};
};

class RunFailure {
 public:
  // Returns true if a fault was recorded.
  explicit operator bool() const { return error_.has_value(); }
  // Returns the first fault, or null.
  const RunError* error() const { return error_ ? &*error_ : nullptr; }
  // Returns the note to send instead of messages. It is valid only after a fault.
  const FailureNote& note() const { return note_; }
  // Forgets the fault, for another run.
  void clear() { error_.reset(); }
  // Records the first fault and makes the note; later faults have no effect. Ranks are numbered as
  // in the list. A fault without a rank (-1) is that of `own_rank`. `task` is the index in `list`
  // of the task that failed, and is added to the fault's text; kNoTask if there is none.
  void record(Fault fault, std::uint32_t task, const TaskList& list, int own_rank);
  // Returns true if the fault makes other operations of the context fail as well: a rank has ended,
  // or calls differ. A fault must have been recorded.
  bool is_lasting() const;

 private:
  std::optional<RunError> error_;
  FailureNote note_;
};

}  // namespace scela::collectives
