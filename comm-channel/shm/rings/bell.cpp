#include "comm-channel/shm/rings/doorbell.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace scela::channel::shm {

namespace {
bool membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}
}  // namespace

Barrier Barrier::make() {
  Barrier made;
  made.works_ = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) &&
                membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
  return made;
}

void Barrier::everybody_sees() const {
  if (works_) membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

}  // namespace scela::channel::shm
