// Starting an agent through a remote shell: the command for the login shell of the other node, and
// the lines that come back before the first frame. The launcher and agents use it to start agents
// over ssh.
//
// sh, bash, dash, ksh, csh, tcsh, zsh and fish all understand the command. If the agent is
// installed, the login shell itself executes it: a second shell would cost every node its start.
// Otherwise /bin/sh looks into the user's cache (nla/pack/agent_cache.h). It executes the package
// that it finds there only if its bytes have the right digest, and removes it if they have not. If
// there is none, /bin/sh finds a directory that takes an executable file (not mounted noexec, with
// room for it) and reads the agent's package from its standard input. Its script is one word in
// single quotes, without a backslash, '!' or newline in it. A command that does not look for an
// installed agent consists of that word alone, for shells that do not know '&&' (fish before 3.0).
//
// The scanner skips all that a shell prints of its own before. An answer is a line of its own that
// begins with the magic word. The command does not contain that word, so a shell that echoes its
// commands is not taken for an answer.
//
//   SCELA-NLA ready PROTOCOL BUILD      the agent runs; frames follow
//   SCELA-NLA other VERSION BUILD       an agent of another version is installed there; it has left
//   SCELA-NLA ship MACHINE              send the bytes of the package
//   SCELA-NLA refused WHY               it cannot be started
//
// Pure, with no lock: one thread at a time uses a scanner. A scanner holds one line of at most
// kMaxLine bytes and the last line of noise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::nla {

// The names of shipped files begin with this; the rest is the token.
inline constexpr std::string_view kShippedName = ".scela-nla-";
// The names of packages in the cache begin with this; the rest is their SHA-256.
inline constexpr std::string_view kKeptName = "scela-nla-";

// The agent's package as the other node checks it. Digests are of the whole package, in
// hexadecimal.
struct RemotePackage {
  std::uint64_t size = 0;  // in bytes; 0: there is none to send
  std::string build;       // the id of the agent's build
  std::string sha256;      // names its file in the cache
  std::string blake2b;     // of 512 bits
};

// The agent that remote_command() is to start.
struct RemoteAgent {
  // The path of the installed agent on the other node, absolute. If it is empty, the command does
  // not look for it.
  std::string path;
  // The id of the build that both sides must have, in hexadecimal. An installed agent of another
  // build answers `other`.
  std::string build;
  RemotePackage package;
  bool look_in_cache = true;   // a package in the user's cache may be executed
  bool store_in_cache = true;  // a package that is sent stays in the user's cache
  // Letters and digits, unique for each start; part of the sent file's name.
  std::string token;
  std::vector<std::string> words = {};  // further arguments
};

// Returns the command that starts the agent on `node`, the host's name. Returns a usage error if a
// path, a name or an argument cannot stand in the command.
Result<std::string> remote_command(const RemoteAgent& agent, std::string_view node);

// Returns the line that an agent prints if it runs, with a newline before and after it. `build` is
// its build id in hexadecimal.
std::string ready_line(std::string_view build);
// Returns the line of an agent of another version, which then ends.
std::string other_line(std::string_view version, std::string_view build);

// One answer, as AnswerScanner finds it.
struct RemoteAnswer {
  enum class Kind { ready, other, ship, refused };  // the first words of answers, see above
  Kind kind = Kind::ready;
  std::string text;  // BUILD, VERSION, MACHINE or WHY
  friend bool operator==(const RemoteAnswer&, const RemoteAnswer&) = default;
};

// Looks for answers in the bytes that come back.
class AnswerScanner {
 public:
  static constexpr std::size_t kMaxLine = 4096;
  static constexpr std::size_t kMaxNoise = std::size_t{1} << 20;

  // Takes bytes from the front of `bytes`, up to and with the next answer. Returns std::nullopt if
  // they hold no answer. Returns a protocol error if there is more noise than any login prints
  // (kMaxNoise bytes).
  Result<std::optional<RemoteAnswer>> feed(std::string_view& bytes);
  // Returns the last line of noise, for the text of an error.
  const std::string& noise() const { return noise_; }

 private:
  // Ends a line that is complete: returns the answer that it holds. Otherwise keeps it as noise and
  // returns std::nullopt.
  std::optional<RemoteAnswer> end_line();

  std::string line_;
  std::string noise_;
  bool overlong_ = false;
  std::size_t skipped_ = 0;
};

}  // namespace scela::nla
