// Parses PMI_process_mapping, which says which ranks share a node:
// "(vector,(first node,nodes,ranks each),...)".
//
// Used by the client libraries. Pure functions, for any thread.
#pragma once

#include <string_view>
#include <vector>

namespace scela::pmi::client {

// Returns the node of each of the `size` ranks, in rank order; nodes are numbered from 0. Returns
// an empty vector if the text is not of this form. If the blocks give fewer than `size` ranks, they
// are repeated, as MPICH does.
std::vector<int> nodes_of_ranks(std::string_view mapping, int size);

// Returns the ranks of `rank`'s node in ascending order, `rank` included, in a job of `size` ranks.
// Returns an empty vector if the text is not of this form.
std::vector<int> ranks_beside(std::string_view mapping, int rank, int size);

}  // namespace scela::pmi::client
