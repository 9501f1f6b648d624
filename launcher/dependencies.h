// The shared libraries that a program is linked to, and those that they are linked to in turn, as
// this machine's loader would find them: by name, without running anything.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace scela {

// Calls `see` with each library's name once, the nearest first, until it returns false.
// `directories`: those of LD_LIBRARY_PATH, may be empty.
// False: the program cannot be read, or is none of a kind that has libraries (a script).
bool for_each_library(const std::string& program, std::string_view directories,
                      const std::function<bool(const std::string& name)>& see);

// Whether the program is linked to shared libraries, and neither it nor one of these but libc loads
// libraries or starts programs: it stays what it is, as hostname does, and a shell or Python do
// not.
bool stays_as_it_is(const std::string& program, std::string_view directories);

}  // namespace scela
