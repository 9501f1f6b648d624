// Finds the shared libraries that a program is linked to, and the libraries that those are linked
// to in turn. It reads files as this machine's dynamic loader would and runs no program.
// pmi_choice.cpp uses it; the functions block on file reads and share no state between calls.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "launcher/core/program/pmi_need.h"

namespace scela {

// Calls `see` once with the name of each library (DT_NEEDED, such as libmpi.so.12), breadth first,
// until `see` returns false. `program` is the path of the program. A library that is not found is
// named too, but its own libraries are not. `directories` is the value of LD_LIBRARY_PATH and may
// be empty. Returns true also if `see` has ended it. Returns false if the program cannot be read,
// or is no ELF file (a script).
bool for_each_library(const std::string& program, std::string_view directories,
                      const std::function<bool(const std::string& name)>& see);

// Returns true if neither the program nor any library to which it is linked, except libc, can load
// libraries or start programs. Such a program (hostname) cannot become one that uses MPI; a shell
// or Python can. A static program that was stripped may. The arguments are those of
// for_each_library(). Returns false if the program cannot be read.
bool cannot_start_programs(const std::string& program, std::string_view directories);

// Returns the PMI that a static program shows by the names in it (PmiNames). The need is unknown if
// the program is linked to libraries, is larger than 256 MiB, or cannot be read.
PmiGuess need_of_static(const std::string& program);

}  // namespace scela
