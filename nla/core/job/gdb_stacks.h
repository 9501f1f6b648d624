// How gdb is asked for the stacks of a process, and what its answer becomes: a text that is equal
// for processes that wait in the same places.
//
// Addresses, process numbers and argument values are left out of the text, because they differ
// between ranks. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scela::nla {

// The most frames of a stack, and the most bytes of a line of it.
inline constexpr int kMaxFrames = 100;
inline constexpr std::size_t kMaxFrameLine = 400;

// Returns the words of a gdb that prints the stacks of all threads of the process, and ends. It
// reads no file of the user's, and leaves the process running as it was.
std::vector<std::string> gdb_words(std::uint32_t pid);

// Returns the stacks in gdb's output, with a newline after each line: for each group of threads
// with the same stack their number, if there is more than one thread, and the frames. If the output
// has no frame, returns "no stack: " and gdb's last words.
std::string stacks_text(std::string_view output);

}  // namespace scela::nla
