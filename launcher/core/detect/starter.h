// How agents are started on the hosts of a scheduler's job. launch_choice.cpp uses it. Pure.
//
// A starter is a command of one of two kinds. One command for each host is shaped like rsh: its
// standard input and output are the link to the agent, which carries the key of the job, and its
// end is the end of the agent. One command for all hosts starts the agents in any order; they say
// which they are, and form the tree over TCP links (bulk_command.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "launcher/core/detect/allocation.h"
#include "launcher/core/detect/environment.h"

namespace scela {

// The kinds of starters.
enum class StarterKind : std::uint8_t {
  ssh,       // the scheduler has no command: agents are started over ssh
  per_host,  // PROGRAM WORDS HOST COMMAND, for each host
  bulk,      // one command starts all agents, and carries no stream of theirs
  unusable,  // its command brings agents no secret: agents are started over ssh
};

// A way to start agents.
struct Starter {
  StarterKind kind = StarterKind::ssh;
  // The command up to the host, with blanks between its words: "/usr/bin/qrsh -inherit". With
  // StarterKind::bulk and unusable only its name, for texts. Empty with StarterKind::ssh.
  std::string command;
};

// Returns the starter of a scheduler. The variables say where its commands are (SGE_ROOT and ARC,
// LSF_BINDIR). Without them the command is looked for in PATH.
Starter starter_of(Scheduler scheduler, const Environment& environment);

// Commands that take the host in the middle of their words, and start the command without a shell:
// kubectl, podman and docker. Returns the text for --launch rsh:TEXT, or "" for any other name.
// {host} and {command} stand for the host and the command (nla/core/tree/start_words.h).
std::string_view container_starter(std::string_view name);

}  // namespace scela
