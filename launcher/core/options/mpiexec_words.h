// First pass over the command line: separates options from programs and their arguments, and
// rewrites the single-dash words of mpiexec users. options.cpp uses it. All functions are pure.
//
// Option parsing stops at the program's name: the first word that is neither an option nor an
// option's argument, or the word after "--". `-n 2 ./p -n 5` thus leaves `-n 5` to ./p. A lone ":"
// begins the next program. -np N, -ppn N, -hosts LIST, -usize N, -env K V, -genv K V, -wdir D, -wd
// D, -pmi-port and -launcher M become long options, and so does --launcher, another name of
// --launch. Clusters of short flags (-lv) are split. The next pass needs to know neither.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela {

// A word of mpiexec users and the option that it stands for. The word has one dash, but for
// "--launcher".
struct MpiexecSpelling {
  enum class Argument { one, pair, none };  // pair: NAME VALUE in two words, or NAME=VALUE in one
  std::string_view word;                    // "-np"
  std::string_view option;                  // "--np"
  Argument takes;
};
// Returns all such words.
std::span<const MpiexecSpelling> mpiexec_spellings();

// The part of the command line for one program.
struct ProgramWords {
  // The options in long or one-letter form: --name, --name=value, -n, -n2, and separate arguments.
  std::vector<std::string> options;
  // The program and its arguments. It may be empty.
  std::vector<std::string> argv;
  bool is_exact = false;  // the word "--" stands before the program
};

// Splits the command line. `words` is argv without the program's own name. Returns one element per
// program, and one if there are no words. Returns an error (kind usage) for an unknown option, or
// if -env or -genv lacks an argument.
Result<std::vector<ProgramWords>> split_programs(const std::vector<std::string>& words);

// Returns the error for a word that is no option, with advice, such as "unknown option -hostfile
// (did you mean --hostfile? see scela-run --help)".
Error unknown_option(std::string_view word);

}  // namespace scela
