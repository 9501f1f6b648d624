// The built-in table, which is used if the caller gives no other.
//
// The rows of each operation follow the literature and the simulator's figures
// (docs/design/collectives.md, Choice). There are few rounds while the start of messages is what
// costs, and few bytes when the bytes are. There are segments if a long message goes down a long
// way. If ranks share nodes, short messages go by nodes. The last row of each operation fits
// always.
#include "collectives/choice/choice.h"

namespace scela::collectives {
namespace {

constexpr std::string_view kStandard = R"(
barrier        nodes 3.. per-node 2..          hierarchical radix 4
barrier        ranks ..4                       recursive-doubling
barrier                                        dissemination

bcast          nodes 2.. per-node 2.. bytes ..8K  hierarchical
bcast          ranks ..2                       binomial
bcast          bytes ..32K                     binomial
bcast          ranks ..8                       binomial segment 64K
bcast          bytes 512K..                    chain segment 64K
bcast          bytes 32K..                     scatter-allgather
bcast                                          binomial

reduce         nodes 2.. per-node 2.. bytes ..8K  hierarchical
reduce         ranks ..2                       binomial
reduce         bytes 256K..                    binary segment 64K
reduce                                         binomial

allreduce      ranks ..2                       recursive-doubling
allreduce      bytes ..8K                      recursive-doubling
allreduce      bytes ..1M                      rabenseifner
allreduce      bytes 1M..                      ring
allreduce      bytes 8K..                      rabenseifner
allreduce                                      recursive-doubling

gather         bytes 8K..                      flat
gather                                         binomial

scatter        bytes 8K..                      flat
scatter                                        binomial

allgather      ranks ..2                       direct
allgather      bytes ..1K                      bruck
allgather      ranks ..8 bytes ..32K           standard-exchange
allgather      bytes 32K..                     ring
allgather      bytes ..32K                     standard-exchange
allgather                                      ring

alltoall       ranks ..2                       pairwise
alltoall       ranks 8.. bytes ..256           bruck
alltoall       bytes ..32K                     flat
alltoall                                       pairwise

reduce_scatter bytes ..64K                     recursive-halving
reduce_scatter                                 pairwise

scan           ranks ..4                       chain
scan                                           recursive-doubling

exscan         ranks ..4                       chain
exscan                                         recursive-doubling
)";

}  // namespace

const Table& Table::standard() {
  static const Table table = *Table::parse(kStandard, "the standard table");
  return table;
}

}  // namespace scela::collectives
