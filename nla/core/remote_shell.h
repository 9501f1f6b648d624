// Starting an agent through a remote shell: the command that is given to the login shell of the
// other node, and the lines that come back before the first frame.
//
// The command is understood by sh, bash, dash, ksh, csh, tcsh, zsh and fish alike. The login shell
// itself executes the agent where it is installed: a second shell would cost every node its start.
// Else /bin/sh finds a directory that takes an executable file (not mounted noexec, with room for
// it) and reads the agent from its standard input; its script is one word in single quotes, without
// a backslash, '!' or newline in it. A command that does not look for an installed agent consists
// of that alone, for shells that do not know '&&' either (fish before 3.0).
//
// Whatever a shell prints of its own before is skipped: an answer is a line of its own that begins
// with the magic word, and the command does not contain that word, so that a shell that echoes its
// commands is not taken for an answer.
//
//   SCELA-NLA ready PROTOCOL BUILD      the agent runs; frames follow
//   SCELA-NLA other VERSION BUILD       an agent of another version is installed there; it has left
//   SCELA-NLA ship MACHINE              send the digest in hex, a newline and the agent's bytes
//   SCELA-NLA refused WHY               it cannot be started
//
// Pure. Held bytes: one line of at most kMaxLine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::nla {

// What the names of shipped files begin with; the rest is the token.
inline constexpr std::string_view kShippedName = ".scela-nla-";

struct RemoteAgent {
  std::string path;        // absolute; empty: ship it without looking
  std::string build;       // id of the right build, hexadecimal
  std::uint64_t size = 0;  // bytes to be shipped
  std::string token;       // letters and digits, unique per start: name of the shipped file
  std::vector<std::string> words = {};  // further arguments
};

// Error (usage): a path or a name that cannot stand in the command.
Result<std::string> remote_command(const RemoteAgent& agent, std::string_view node);

std::string ready_line(std::string_view build);
std::string other_line(std::string_view version, std::string_view build);
std::string refused_line(std::string_view why);

struct RemoteAnswer {
  enum class Kind { ready, other, ship, refused };
  Kind kind = Kind::ready;
  std::string text;  // BUILD, VERSION, MACHINE or WHY
  friend bool operator==(const RemoteAnswer&, const RemoteAnswer&) = default;
};

// Looks for answers in what comes back.
class AnswerScanner {
 public:
  static constexpr std::size_t kMaxLine = 4096;
  static constexpr std::size_t kMaxNoise = std::size_t{1} << 20;

  // Takes bytes from the front of `bytes`, up to and with the next answer.
  // Error (protocol): more noise than any login prints.
  Result<std::optional<RemoteAnswer>> feed(std::string_view& bytes);
  // The last line of noise, for the text of an error.
  const std::string& noise() const { return noise_; }

 private:
  std::optional<RemoteAnswer> end_line();

  std::string line_;
  std::string noise_;
  bool overlong_ = false;
  std::size_t skipped_ = 0;
};

}  // namespace scela::nla
