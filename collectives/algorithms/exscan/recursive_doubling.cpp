#include "collectives/algorithms/exscan/exscan.h"
#include "collectives/algorithms/scan/doubling.h"

namespace scela::collectives {

TaskList exscan_recursive_doubling(const Shape& shape, int rank) {
  return Doubling(shape, rank, true).list();
}

}  // namespace scela::collectives
