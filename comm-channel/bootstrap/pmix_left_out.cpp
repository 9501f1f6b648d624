// The space of a build without libpmix's headers.
#include "comm-channel/bootstrap/space.h"

namespace scela::channel {

Result<std::unique_ptr<Space>> open_pmix() {
  return fail(Error{ErrorKind::usage, "speak PMIx with the launcher", "",
                    "this library was built without it",
                    "build it where the package libpmix-dev is, or start with a launcher that "
                    "speaks PMI (scela-run --pmi fd, mpiexec.hydra, srun --mpi=pmi2)"});
}

}  // namespace scela::channel
