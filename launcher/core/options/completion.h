// Completion of scela-run's command line in shells. completion/scela_completion.cpp writes the
// files at build time, so that shells and program have the same options. The functions are pure.
//
// Options, their help, the words that they take and the kind of their argument come from
// option_table(), the words of mpiexec users from mpiexec_spellings(). Names of hosts come from
// ssh's files and /etc/hosts, each time the user completes one.
#pragma once

#include <string>
#include <string_view>

namespace scela {

// These return the text of the file that each shell loads. It is `source`, a file of completion/,
// with the parts that come from the tables in place of its placeholders.
std::string bash_completion(std::string_view source);
std::string zsh_completion(std::string_view source);
std::string fish_completion(std::string_view source);

}  // namespace scela
