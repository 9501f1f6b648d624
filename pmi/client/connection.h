// A rank's end of PMI: the socket to its launcher, or the shared memory that replaces the socket.
// It handles one request and one answer at a time. It also maps the node's segment if the launcher
// shares one.
//
// Used by the C functions of libpmi (pmi1_api.cpp) and libpmi2 (pmi2_api.cpp); it knows no C
// interface itself. Calls block, as PMI does. ask() and ask_framed() may be called from several
// threads, which take turns.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "common/os/sealed_memory.h"
#include "pmi/client/client_ring.h"
#include "pmi/protocol/segment_reader.h"

namespace scela::pmi::client {

// The fields of a PMI-1 answer: "cmd=x rc=0 key=value ...".
class Fields {
 public:
  // `line` has no newline.
  explicit Fields(std::string line) : line_(std::move(line)) {}
  // Returns the value of the field `name`, or std::nullopt if the line has no such field. The field
  // "value" may hold spaces: it extends to the end of the line.
  std::optional<std::string> find(std::string_view name) const;
  // Returns std::nullopt if the field is absent or is no decimal number.
  std::optional<long> number(std::string_view name) const;
  // Returns true if the field rc is 0 or absent: the request was granted.
  bool ok() const;
  const std::string& line() const { return line_; }

 private:
  std::string line_;
};

// Returns true if `job` is the job of scela-run that this process belongs to, or one of the jobs
// spawned from it. scela-run itself shows why a rank aborts.
bool is_job_of_scela(std::string_view job);

// One per process; movable. Errors are those of Result (common/core/result.h) with a text for the
// user.
class Connection {
 public:
  // Connects as the environment says: by PMI_FD, else by PMI_PORT. Returns std::nullopt if neither
  // is set, so that this process is alone. In that case rank 0 of a job of several ranks prints a
  // warning, in the name of `library`.
  static Result<std::optional<Connection>> open(const char* library);
  // For a process that is alone: starts scela-run, found by PATH, which serves the process as the
  // only rank of a job. Blocks until scela-run has connected or has ended. (singleton.cpp)
  static Result<Connection> call_launcher();

  // Return the number of this process, from 0, and the number of ranks of the job.
  int rank() const { return rank_; }
  int size() const { return size_; }

  // Sends one line of PMI-1, given without its newline, and blocks until the answer is there.
  // Returns the answer's fields. Error (protocol): the connection has ended, or the answer is not
  // the one that begins with "cmd=" and `command`.
  Result<Fields> ask(std::string_view line, std::string_view command);
  // Sends one line of PMI-1, given without its newline, and does not wait for an answer. A failure
  // shows at the next ask().
  void say(std::string_view line);
  // Do the same as ask() and say() for PMI-2, once init has chosen it. `message` begins with its
  // length (pmi/protocol/pmi2/pmi2_wire.h). ask_framed() returns the answer without its length.
  Result<std::string> ask_framed(std::string_view message);
  void say_framed(std::string_view message) { send(message); }
  // Ask the agent, the launcher's process on this node, for the node's segment, the memory with the
  // job's pairs, and for a ring to use instead of the socket; by PMI-1 and by PMI-2. If they are
  // refused or cannot be used, every get is a request and the socket stays. Block until the answers
  // are there. `job` is the job's name as the server gives it: the server of another launcher,
  // inside a job of scela-run, is not asked.
  void attach(std::string_view job);
  void attach_framed(std::string_view job);
  // Copies the value of `key` from the node's segment to `out`, without a terminating zero. Returns
  // its size in bytes. Returns std::nullopt if there is no segment, if the pair is not in it, or if
  // the value is longer than `room` bytes; the caller then makes a request. Does not block.
  std::optional<std::uint64_t> shared(std::string_view key, char* out, std::uint64_t room) const {
    const auto size = reader_ ? reader_->get(key, out, room) : std::nullopt;
    if (size && ring_) ring_->note_use(key);
    return size;
  }
  // Returns the node's segment, or std::nullopt if attach() got none.
  const std::optional<segment::Reader>& reader() const { return reader_; }

 private:
  // Returns the lock that a thread holds from its request until it has read the answer.
  static std::mutex& turn();
  // Sends the rank's id (PMI_ID) to PMI_PORT, and reads the rank and the size from the answer.
  Result<void> introduce(int id);
  // Writes `text` as it is, and blocks until all bytes are written. A failure to write shows at the
  // next read.
  void send(std::string_view text);
  using Received = std::vector<Fd>;
  // Blocks until bytes arrive, appends them to input_, and the descriptors that come with them to
  // `received`. `received` may be null; descriptors are closed then.
  Result<void> read_more(Received* received);
  // Both return the next answer: a line without its newline, or the payload of a PMI-2 message.
  // `received` is as in read_more().
  Result<std::string> read_line(Received* received);
  Result<std::string> read_framed(Received* received);
  // Begin to use the descriptors that arrived with an answer: the segment, or the ring's memory and
  // doorbell. If they cannot be used, the connection goes on without them.
  void use_segment(Received received);
  void use_ring(Received received);

  Fd socket_;                   // leads to /dev/null if ring_ is set
  std::unique_ptr<Ring> ring_;  // replaces the socket
  int rank_ = 0;
  int size_ = 1;
  std::string input_;  // read but not yet used
  std::optional<SealedMemory> memory_;
  std::optional<segment::Reader> reader_;
};

}  // namespace scela::pmi::client
