// Which ranks share a node, from PMI_process_mapping: "(vector,(first node,nodes,ranks each),...)".
#pragma once

#include <string_view>
#include <vector>

namespace scela::pmi::client {

// The node of each rank, as many as there are; none if the text is not of this form. Blocks are
// begun again when they give fewer than `size` ranks, as MPICH does.
std::vector<int> nodes_of_ranks(std::string_view mapping, int size);

// The ranks of `rank`'s node in ascending order; none if the text is not of this form.
std::vector<int> ranks_beside(std::string_view mapping, int rank, int size);

}  // namespace scela::pmi::client
