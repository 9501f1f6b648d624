// A private directory below a directory that others can write to, and its removal.
//
// The directory is created with mode 0700 in one step, so no other user can have put anything there
// first. Removal does not follow links, and does not leave the file system tree where it started.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// Returns TMPDIR if that names a directory by an absolute path, else /tmp.
std::string temporary_base();

// Returns "<base>/<name>" with each '/' in `name` replaced. make_private_directory() requires that
// it does not exist.
std::string private_directory_path(std::string_view base, std::string_view name);
// Creates the directory. Error (launch): it exists already, or cannot be made.
Result<void> make_private_directory(const std::string& path);

// Returns a lock on the directory. While it is open and the process lives, directory_held() is
// true. So a process that finds the directory can tell whether its owner lives. The result is
// invalid if the file system knows no locks.
Fd hold_directory(const std::string& path);
// Returns true if the directory is held, or if that cannot be told. Returns false if there is no
// such directory.
bool directory_held(const std::string& path);

// Removes this user's files and directories in `base` with this prefix and suffix, if they were not
// changed for `age` and no process holds them. Such files are left if all processes of a job, or
// the machine, died at once. A file that cannot be removed stays.
void remove_abandoned(const std::string& base, std::string_view prefix, std::string_view suffix,
                      std::chrono::seconds age);

// Removes the directory and everything in it. A directory that does not exist is no error.
Result<void> remove_tree(const std::string& path);

}  // namespace scela
