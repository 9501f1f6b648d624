// A directory of one's own below a directory that others can write to, and its removal.
//
// Created with mode 0700 in one step, so nobody can have put anything there first; removal does not
// follow links and does not leave the file system tree it started in.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// TMPDIR if it names a directory, else /tmp.
std::string temporary_base();

// "<base>/<name>", '/' in `name` replaced; it must not exist yet.
std::string private_directory_path(std::string_view base, std::string_view name);
// Error (launch): it exists already, or cannot be made.
Result<void> make_private_directory(const std::string& path);

// As long as it is open, and the process lives, directory_held() is true: whoever finds the
// directory can tell whether its owner lives. Invalid where the file system knows no locks.
Fd hold_directory(const std::string& path);
// False too if there is no such directory; true if it cannot be told.
bool directory_held(const std::string& path);

// Removes this user's files and directories in `base` that are called so, were not changed for
// `age` and are held by nobody: what is left where all processes of a job, or the machine, died at
// once. What cannot be removed stays.
void remove_abandoned(const std::string& base, std::string_view prefix, std::string_view suffix,
                      std::chrono::seconds age);

// Removes the directory and everything in it; one that is not there is no error.
Result<void> remove_tree(const std::string& path);

}  // namespace scela
