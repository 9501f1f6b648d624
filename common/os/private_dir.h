// A private directory below a directory that others can write to, and its removal. Agents and
// engines keep sockets and files of a job there. The functions block on the file system and keep no
// state.
//
// The directory is created with mode 0700 in one step, so no other user can have put anything there
// first. Removal does not follow links, and does not leave the file system tree where it started.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// Returns TMPDIR if that names a directory by an absolute path, else /tmp.
std::string temporary_base();
// Returns /dev/shm if its files are in memory, this user may make some, and at least `free_bytes`
// are free. Otherwise the result is an empty string.
std::string memory_base(std::uint64_t free_bytes);

// Returns "<base>/<name>", with each '/' in `name` replaced by '_'.
std::string private_directory_path(std::string_view base, std::string_view name);
// Creates the directory, with mode 0700. Error (launch): a file of that name exists already, or the
// directory cannot be made.
Result<void> make_private_directory(const std::string& path);

// Takes a lock on the directory and returns its descriptor. While that is open and the process
// lives, is_directory_locked() is true for other processes. So a process that finds the directory
// can tell whether its owner lives. The result is invalid if the directory is locked already, or if
// the file system has no locks.
Fd lock_directory(const std::string& path);
// Returns true if a process holds the directory by lock_directory(), or if that cannot be found
// out. Returns false if there is no such directory.
bool is_directory_locked(const std::string& path);

// Removes files and directories of this user in `base` with this prefix and suffix in their names.
// They must not have changed for `age`, and no process may hold them. Such files are left if all
// processes of a job, or the machine, died at once. Errors are ignored: a file that cannot be
// removed stays.
void remove_abandoned(const std::string& base, std::string_view prefix, std::string_view suffix,
                      std::chrono::seconds age);

// Removes the directory and everything in it. A directory that does not exist is no error. Error
// (io): something could not be removed.
Result<void> remove_tree(const std::string& path);

}  // namespace scela
