#include "collectives/algorithms/scan/doubling.h"
#include "collectives/algorithms/scan/scan.h"

namespace scela::collectives {

TaskList scan_recursive_doubling(const Shape& shape, int rank) {
  return Doubling(shape, rank, false).list();
}

}  // namespace scela::collectives
