// A command that runs in a session of its own, with its output in memory. No thread must read the
// output meanwhile. launcher/hosts/bulk/bulk_start.cpp starts agents by one. The parts
// launcher/hosts/job_allocation.cpp and launcher/hosts/host_discovery.cpp ask for hosts by it.
//
// All functions belong to the main thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// The input of a start. All texts are borrowed for its duration.
struct CommandSpec {
  std::vector<std::string> words;        // the first is a program, looked for in PATH
  std::vector<std::string> environment;  // of the command, as "NAME=VALUE"
  int input = 0;                         // descriptor for its standard input
  bool dies_with_parent = false;         // it gets SIGKILL if this process ends
  int output = -1;                       // for its standard output; -1: output() has it
  // A keeper runs the command: a process that ends with it, and in the same way. If kill() is
  // called or this process ends, however it does, the keeper ends the command and all that it has
  // started: SIGTERM, kKeeperGrace, SIGKILL. What a command that ends by itself has started is left
  // alone.
  bool is_kept = false;
};

// Returns the environment of this process, as a CommandSpec has it.
std::vector<std::string> process_environment();

// The word with which scela-run is started as a keeper; the command follows. It is no option.
inline constexpr std::string_view kCommandKeeper = "-keeper_of_command";
// The time between SIGTERM and SIGKILL. A longer one is how long ^C takes if the command ignores
// it.
inline constexpr std::chrono::milliseconds kKeeperGrace{500};
// The keeper's program; descriptor 3 is the connection. Returns its exit status.
int run_command_keeper(const std::vector<std::string>& words);

class CapturedCommand {
 public:
  // The most bytes of an output that are kept in output() and errors(): the last ones. The list of
  // a hundred thousand hosts has a few megabytes, and an error has its cause in its last lines.
  static constexpr std::size_t kMaxOutput = std::size_t{16} << 20;

  // Starts the command. Returns an error (kind launch) of which `why` says what has failed.
  static Result<CapturedCommand> start(CommandSpec spec);

  pid_t pid() const { return pid_; }
  // Returns a descriptor that becomes readable when the command has ended.
  int process() const { return process_.get(); }
  // Blocks until the command has ended, at most for `limit`, or until the descriptor `end` is
  // readable. Returns its status as waitpid() does, or std::nullopt if it has not ended. The status
  // is 0 if another part of this process has reaped it.
  std::optional<int> wait(std::chrono::milliseconds limit, int end = -1);
  // Sends a signal, unless wait() has seen the end.
  void send(int signal);
  // Ends the command, and the processes of its group or all that a keeper keeps. Waits for it. No
  // signal is sent if the command has ended and was reaped, by wait() or another part.
  void kill();
  // Returns what it has written to standard output, and to standard error.
  std::string output() const;
  std::string errors() const;

 private:
  CapturedCommand() = default;

  pid_t pid_ = 0;
  Fd process_;
  Fd keeper_;  // the connection to it, if there is one
  std::optional<int> ended_;
  Fd output_;
  Fd errors_;
};

// Returns the error (kind usage) of a command without which scela-run cannot go on: `why` follows
// the words in quotes.
Error command_error(const std::vector<std::string>& words, std::string_view why);
// Returns how a command with this status has failed, with its last words.
std::string failure_text(const CapturedCommand& command, int status);
// Returns how a command is late (--connect-timeout).
std::string late_text(std::chrono::milliseconds limit);

// Runs a command without input, and returns its standard output. The command gets SIGKILL if it has
// not ended within the limit (--connect-timeout). Returns an error (kind usage) of which `why`
// names the command, and shows its last words if it has failed. Blocks.
Result<std::string> output_of(const std::vector<std::string>& words,
                              const std::vector<std::string>& environment,
                              std::chrono::milliseconds limit);

}  // namespace scela
