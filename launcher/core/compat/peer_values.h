// Conversions of the values of peers' options into words of scela-run, for rows of the tables that
// a template cannot express. Each function is a PeerConversion (launcher/core/compat/peer_tool.h).
// It adds words to `call`, or returns an error with `why` and `hint`. All functions are pure, but
// those of host files call PeerCall::read.
#pragma once

#include <string_view>
#include <vector>

#include "launcher/core/compat/peer_call.h"

namespace scela {

// Returns the hosts of mpiexec's host list "a:2,b", in which the number behind the colon is always
// one of slots. A host may be there several times.
Result<std::vector<HostEntry>> mpi_hosts(std::string_view text);
// Returns the parts of a list between commas that stand outside of brackets.
std::vector<std::string> list_elements(std::string_view text);

// Returns the error for a value that is none of the known ones, with `known` as its hint: "give
// ssh or rsh".
Error unknown_value(std::string_view value, std::string_view known);

// Adds the words that name the files of standard output, or of standard error, by a pattern of
// scela-run's --output-name with a directory before it. `extension` is "out" or "err": if the
// pattern ends with it, behind a dot, the files have exactly these names. Otherwise it is added.
// Patterns for both streams must differ in that only. Returns an error if they do not, or if the
// pattern does not name the rank.
Result<void> give_output_pattern(PeerCall& call, std::string pattern, std::string_view extension);
// Reads a file with one program a line, and makes its words those of the command line. Blanks
// separate words, and '#' begins a line of comment. Returns an error if it names no program.
Result<void> programs_of_file(PeerCall& call, std::string_view path);

// Hydra.
Result<void> hydra_output(PeerCall& call, std::string_view value);  // "out.%r"
Result<void> hydra_error(PeerCall& call, std::string_view value);
Result<void> hydra_label(PeerCall& call, std::string_view value);    // of -l
Result<void> hydra_pattern(PeerCall& call, std::string_view value);  // "%r@%h: "
Result<void> hydra_hosts(PeerCall& call, std::string_view value);
Result<void> hydra_hostfile(PeerCall& call, std::string_view value);
Result<void> hydra_ppn(PeerCall& call, std::string_view value);
Result<void> hydra_launcher(PeerCall& call, std::string_view value);
Result<void> hydra_rmk(PeerCall& call, std::string_view value);
Result<void> hydra_binding(PeerCall& call, std::string_view value);
Result<void> hydra_membind(PeerCall& call, std::string_view value);
Result<void> hydra_mapping(PeerCall& call, std::string_view value);

// Open MPI.
Result<void> openmpi_hosts(PeerCall& call, std::string_view value);
Result<void> openmpi_per_node(PeerCall& call, std::string_view value);
Result<void> openmpi_one_per_node(PeerCall& call, std::string_view value);
Result<void> openmpi_ppr(PeerCall& call, std::string_view value);      // "2:node"
Result<void> openmpi_mapping(PeerCall& call, std::string_view value);  // "ppr:2:node:pe=2"
Result<void> openmpi_ranking(PeerCall& call, std::string_view value);
Result<void> openmpi_binding(PeerCall& call, std::string_view value);
Result<void> openmpi_export(PeerCall& call, std::string_view value);  // NAME, NAME=VALUE, NAME*
Result<void> openmpi_display(PeerCall& call, std::string_view value);
Result<void> openmpi_tag(PeerCall& call, std::string_view value);  // of --tag-output
Result<void> openmpi_output(PeerCall& call, std::string_view value);
Result<void> openmpi_mca(PeerCall& call, std::string_view value);  // NAME=VALUE
Result<void> openmpi_prtemca(PeerCall& call, std::string_view value);
Result<void> openmpi_pmixmca(PeerCall& call, std::string_view value);

// srun.
Result<void> srun_export(PeerCall& call, std::string_view value);
Result<void> srun_input(PeerCall& call, std::string_view value);
Result<void> srun_output(PeerCall& call, std::string_view value);  // "all", "job.%t.out"
Result<void> srun_error(PeerCall& call, std::string_view value);
Result<void> srun_wait(PeerCall& call, std::string_view value);
Result<void> srun_memory(PeerCall& call, std::string_view value);
Result<void> srun_hint(PeerCall& call, std::string_view value);
Result<void> srun_kill(PeerCall& call, std::string_view value);
Result<void> srun_distribution(PeerCall& call, std::string_view value);
Result<void> srun_mpi(PeerCall& call, std::string_view value);
Result<void> srun_nodes(PeerCall& call, std::string_view value);     // "2" or "2-4"
Result<void> srun_nodefile(PeerCall& call, std::string_view value);  // a file
Result<void> srun_nodelist(PeerCall& call, std::string_view value);  // hosts, or a file with '/'
Result<void> srun_exclude(PeerCall& call, std::string_view value);   // the same
Result<void> srun_relative(PeerCall& call, std::string_view value);
Result<void> srun_time(PeerCall& call, std::string_view value);      // "30", "1:30:00", "1-12"
Result<void> srun_mem_bind(PeerCall& call, std::string_view value);  // "verbose,local"
Result<void> srun_binding(PeerCall& call, std::string_view value);

// pdsh, clush and dshbak.
Result<void> pdsh_hosts(PeerCall& call, std::string_view value);
Result<void> pdsh_exclude(PeerCall& call, std::string_view value);
Result<void> pdsh_module(PeerCall& call, std::string_view value);
Result<void> clush_hosts(PeerCall& call, std::string_view value);
Result<void> clush_exclude(PeerCall& call, std::string_view value);
Result<void> clush_ssh_options(PeerCall& call, std::string_view value);
Result<void> dshbak_coalesce(PeerCall& call, std::string_view value);

}  // namespace scela
