// A rank's end of PMI: the socket to its launcher or the memory in its place, one request and one
// answer at a time, and the node's segment where the launcher shares one.
//
// Blocks in its calls, as PMI does. Knows no C interface.
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
#include "pmi/client/ring.h"
#include "pmi/protocol/segment_reader.h"

namespace scela::pmi::client {

// The fields of an answer: "cmd=x rc=0 key=value ...".
class Fields {
 public:
  explicit Fields(std::string line) : line_(std::move(line)) {}
  // The value of `name`; the rest of the line for `value`, which may hold spaces.
  std::optional<std::string> find(std::string_view name) const;
  std::optional<long> number(std::string_view name) const;
  bool ok() const;  // rc is 0 or absent
  const std::string& line() const { return line_; }

 private:
  std::string line_;
};

// Is `job` the one of scela-run that this process belongs to? Its launcher shows why a rank aborts.
bool is_job_of_scela(std::string_view job);

class Connection {
 public:
  // By the environment: PMI_FD, else PMI_PORT. Nothing: neither is set, this process is alone.
  static Result<std::optional<Connection>> open(const char* library);
  // For a process that is alone: starts scela-run, found by PATH, which serves it as the one rank
  // of a job. Blocks until that is there, or has ended. singleton.cpp
  static Result<Connection> call_launcher();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Sends one line (without its newline) and waits for the answer, which must be a `command`.
  Result<Fields> ask(std::string_view line, std::string_view command);
  // Sends and does not wait.
  void say(std::string_view line);
  // The same for PMI-2, once it is chosen: a message with its length before it; the answer's
  // payload.
  Result<std::string> ask_framed(std::string_view message);
  void say_framed(std::string_view message) { send(message); }
  // Asks the agent for the node's segment, without which gets are requests, and for memory in place
  // of the socket. `job`: as the server calls it; another launcher's server, inside of a job of
  // scela-run, is not asked.
  void attach(std::string_view job);
  void attach_framed(std::string_view job);
  // The value of a key in the node's segment; its size without a terminating zero.
  std::optional<std::uint64_t> shared(std::string_view key, char* out, std::uint64_t room) const {
    const auto size = reader_ ? reader_->get(key, out, room) : std::nullopt;
    if (size && ring_) ring_->note_use(key);
    return size;
  }
  const std::optional<segment::Reader>& reader() const { return reader_; }

 private:
  static std::mutex& turn();
  Result<void> introduce(int id);
  void send(std::string_view text);
  using Received = std::vector<Fd>;
  // More bytes into input_, and descriptors that come with them.
  Result<void> read_more(Received* received);
  Result<std::string> read_line(Received* received);
  Result<std::string> read_framed(Received* received);
  void use_segment(Received received);
  void use_ring(Received received);

  Fd socket_;                   // once there is a ring: its number is kept, and leads nowhere
  std::unique_ptr<Ring> ring_;  // instead of it
  int rank_ = 0;
  int size_ = 1;
  std::string input_;  // read and not yet used
  std::optional<SealedMemory> memory_;
  std::optional<segment::Reader> reader_;
};

}  // namespace scela::pmi::client
