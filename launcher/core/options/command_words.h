// Tells a text for a shell from a program's name, and a host from a program. launcher/plan/plan.cpp
// decides by it what a command is that runs once on each host. launcher/command.cpp adds the hint
// to the verdict. All functions are pure and may be called from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scela {

// Returns true if a command that runs once on each host is a text for the user's shell: it is one
// word, and that word has a blank or a character that is special to a shell ("hostname; uptime").
// Several words are a program and its arguments.
bool is_for_shell(const std::vector<std::string>& argv);

// Returns true if a word in a program's place is a host or a host list for sure, because it has
// brackets, a comma or "user@": "n[1-4]", "a,b", "root@a". Returns false for other words, which
// only the name service can tell.
bool is_surely_host(std::string_view word);

// How a command runs: once on each host, so also after "--", or as the program of ranks. Only the
// first takes a text for the shell.
enum class CommandUse { once_per_host, exact, ranks };

// Returns what to do about a program that was not found. `hosts` is the text of -w, or empty.
// `is_host` says that the program's name is one of a host. Returns "" if there is no advice.
std::string hint_for_unknown_program(const std::vector<std::string>& argv, std::string_view hosts,
                                     bool is_host, CommandUse use);

}  // namespace scela
