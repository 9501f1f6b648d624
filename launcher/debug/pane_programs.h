// Runs a program for the panes of tmux (--tmux, --gdb) to its end: tmux itself, and the keeper. The
// panes and their keeper use it. Must be called before this process reaps all its children
// (common/os/process/reaper.h).
#pragma once

#include <string>
#include <vector>

#include "common/os/process/child.h"

namespace scela {

// A descriptor of a program that is /dev/null.
inline constexpr int kNoStream = -1;

// Starts the program with the environment of this process and waits for its end. The i-th of
// `descriptors` becomes the program's descriptor i. Returns its status, as waitpid() gives it.
tl::expected<int, ChildError> run_pane_program(const std::string& program,
                                               std::vector<std::string> words,
                                               std::vector<int> descriptors,
                                               ChildGroup group = ChildGroup::own_group);

}  // namespace scela
