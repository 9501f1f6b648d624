// The record of the core's events and actions (nla/core/record/record.h) in a file, if the user
// wants one (--record). The job goes on without its record if the file cannot be written. The
// shell, the code around the agent's core, uses this part on its loop; writing blocks as local
// files do.
#pragma once

#include <optional>
#include <string>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/core/record/record.h"
#include "nla/node/shell_context.h"

namespace scela::nla {

class RunRecord {
 public:
  // `context` is borrowed.
  explicit RunRecord(ShellContext& context) : context_(context) {}

  // Begins a record in this file. The file is made when there is something to write.
  void start(std::string path);
  // Makes the file now. Error (io): it cannot be made.
  Result<void> make_file();
  // Adds an event and the actions that answered it. Does nothing if no record is kept.
  void add(const Event& event, const Actions& actions) {
    if (!writer_) return;
    writer_->add(event, actions);
    if (writer_->size() >= kRecordBlock) write();
  }
  // Writes all that is not in the file yet.
  void finish() {
    if (writer_ && writer_->size() > 0) write();
  }
  // Returns why the record ends before the job, or std::nullopt.
  const std::optional<Error>& error() const { return error_; }

 private:
  // Appends the bytes that are collected to the file, which it makes if need be.
  void write();
  // Ends the record and keeps the reason. An agent also logs it; an error of the root's own record
  // is shown when the job is over.
  void fail_with(Error why);

  ShellContext& context_;
  std::optional<RecordWriter> writer_;
  std::string path_;
  Fd file_;
  std::optional<Error> error_;
};

}  // namespace scela::nla
