// The command line of a program that executes a command on another node, as ssh and rsh do.
// nla/spawn/program.cpp uses it. Pure.
//
// The user writes PROGRAM WORDS (--launch rsh:TEXT), separated by blanks. Two forms exist:
//
//   rsh -l me                                          rsh -l me HOST COMMAND
//   kubectl exec -i {host} -- /bin/sh -c {command}     each word has its place
//
// In the first form a shell on the other node parses COMMAND, which is one argument here. In the
// second form, which has the word {host}, the program starts its last words without a shell, so the
// text names one. COMMAND is the last argument if there is no {command}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scela::nla {

// The node that a command is for.
struct StartTarget {
  std::string host;                   // as the program takes it
  std::optional<std::uint16_t> port;  // becomes "-p PORT" before HOST; only in the first form
};

// Returns the arguments, the program first. Returns no words if `text` has none.
std::vector<std::string> start_words(std::string_view text, const StartTarget& target,
                                     const std::string& command);

// Returns the name of the program in a message: its first words, at most three. A word with a
// character that a shell would obey is left out with all after it, as a script begins there.
std::string name_of_start(std::string_view text);

}  // namespace scela::nla
