// The words by which an agent joins a job by itself (scela-nla --join), and their proofs. Both
// sides have one key, from a file; neither ever sends it.
//
//   scela-run -> agent   scela-join 1 JOB CHALLENGE\n
//   agent -> scela-run   join BUILD NAME SLOTS CHALLENGE PROOF\n
//   scela-run -> agent   welcome PROOF\n, refused WHY\n, or late WHY\n
//   agent -> scela-run   the hello of dial_hello.h
//
// If the job is started again, the same connection serves the next start:
//
//   agent -> scela-run   one byte, kNodeIsClean: nothing of the last start is left here
//   scela-run -> agent   one byte, kNextStart, before that byte or after it
//   agent -> scela-run   the hello of another agent process
//
// At the end of a job that has begun:
//
//   scela-run -> agent   one byte, kJobIsOver
//
// The end of the connection is the end of the job. Without one of these bytes before it, a job for
// which the agent waited has not begun.
//
// JOB and both challenges are random. Each proof is over all that was said before it, so no old
// line proves anything again. The secret of the job follows from the key and JOB; with it, the
// agent goes on as one that has dialed in (dial_hello.h). Values only, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela::nla {

// The most bytes of a line, with its newline.
inline constexpr std::size_t kMaxJoinLine = 1024;
// The word of scela-run to an agent: the job is started again.
inline constexpr char kNextStart = '+';
// The word of scela-run to an agent: the job has begun, and is over.
inline constexpr char kJobIsOver = '.';
// The most slots that an agent may say it has.
inline constexpr std::uint32_t kMaxJoinSlots = 1u << 20;

// The first line of scela-run. Both are 64 hexadecimal digits.
struct JoinCall {
  std::string job;
  std::string challenge;
};

// The line of an agent.
struct JoinRequest {
  std::string build;
  std::string name;  // of its host
  std::uint32_t slots = 1;
  std::string challenge;  // 64 hexadecimal digits
};

// Returns true if the name may be that of a host that joins: letters, digits, '.', '_' and '-', at
// most 253, and no '-' at the start.
bool is_join_name(std::string_view name);

// These return lines with their newline. Those that read take lines without it, and return a
// protocol error if a line is malformed.
std::string format(const JoinCall& call);
Result<JoinCall> parse_join_call(std::string_view line);
std::string format(const JoinRequest& request, const JoinCall& call, std::string_view key);
// Returns the error "its key is another one" if the proof is of another key or another call.
Result<JoinRequest> parse_join_request(std::string_view line, const JoinCall& call,
                                       std::string_view key);
std::string welcome_line(const JoinRequest& request, const JoinCall& call, std::string_view key);
std::string refusal_line(std::string_view why);
// Returns the answer to an agent that would be welcome, but comes when the job needs no host.
std::string late_line(std::string_view why);
// Reads the answer. Returns a protocol error if it is a refusal, or a welcome without proof of the
// key. The error's kind is launch if the agent is late.
Result<void> check_join_answer(std::string_view line, const JoinRequest& request,
                               const JoinCall& call, std::string_view key);

// Returns the secret of the job, kDialSecretDigits digits.
std::string join_secret(std::string_view key, std::string_view job);

// Reads the key from a file. Returns an error (kind usage) if it cannot be read, has fewer than 16
// bytes without its last newline, more than 4096, or if it belongs to this user and others may use
// it too, which is ssh's rule for private keys.
Result<std::string> read_join_key(const std::string& path);

}  // namespace scela::nla
