// An error as the user reads it: what was tried, where, what happened, and what to do about it. All
// rooms use it.
//
// An error is a value. Its kind says what is now broken: the request alone, the link, the node or
// the whole job. So it decides which part must react, and with which exit status the command ends
// (exit_status() of launcher/core/report/job_report.h).
#pragma once

#include <string>
#include <string_view>

namespace scela {

// The kinds of errors.
enum class ErrorKind {
  // The command line, a host list or a file that the user named is wrong; the command tried
  // nothing.
  usage,
  // A peer (agent or rank) sent something that its protocol does not allow.
  protocol,
  launch,       // an agent or a program did not start
  unreachable,  // a node could not be reached
  io,           // a file, terminal or disk failed
  internal,     // ScELA itself is at fault
};

// Returns the name of the kind as it is written above, such as "usage".
std::string_view name_of(ErrorKind kind);

// An error: what was tried, where, what happened, and what to do.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  // The thing that was tried: "open host file 'hosts.txt'".
  std::string what;
  std::string where;  // node or "file:line"; empty: here
  // The thing that happened: "No such file or directory".
  std::string why;
  std::string hint;  // what to do; may be empty

  // Returns the error as one line: "node17: start agent: connection refused (see ...)". Empty
  // fields are left out.
  std::string text() const;
};

// Returns true if all fields are equal.
bool operator==(const Error& a, const Error& b);

// Returns an errno as text, "No such file or directory (ENOENT)", without locale or static buffers.
std::string errno_text(int number);

}  // namespace scela
