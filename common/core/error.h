// An error as the user reads it: what was tried, where, what happened, and what to do about it.
//
// Values only. The kind says what is now broken, hence who must react (the request alone, the link,
// the node, the whole job) and which exit status the command ends with.
#pragma once

#include <string>
#include <string_view>

namespace scela {

enum class ErrorKind {
  usage,     // the command line, a host list or a file the user named is wrong: nothing was tried
  protocol,  // a peer (agent or rank) sent something its protocol does not allow
  launch,    // an agent or a program could not be started
  unreachable,  // a node could not be reached
  io,           // a file, terminal or disk failed
  internal,     // ScELA's own fault
};

std::string_view name_of(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string what;   // what was tried: "open host file 'hosts.txt'"
  std::string where;  // node, "file:line", or empty for this machine
  std::string why;    // what happened: "No such file or directory"
  std::string hint;   // what to do; may be empty

  // One line: "node17: start agent: connection refused (hint: ...)".
  std::string text() const;
};

bool operator==(const Error& a, const Error& b);

// "strerror(number) (NAME)" without locale or static buffers.
std::string errno_text(int number);

}  // namespace scela
