// Makes the engine executor: an adapter's engine executes the lists. They are posted whole when
// they are started, and need no step of this process until they are over (O16). Communicators use
// it (CommunicatorMaker::by_engine).
#pragma once

#include <memory>

#include "collectives/executors/factory.h"

namespace scela::collectives {

// Makes the executor on an adapter of this machine, or returns an error if none can execute tasks.
// `polled` moves the operations with a reduction that the adapter cannot compute, and other
// operations of the caller. `transport` belongs to the executor. By it ranks tell each other of
// their queues, and learn which ranks have ended. One thread may call the executor at a time.
Result<std::unique_ptr<Executor>> make_engine(std::unique_ptr<Executor> polled,
                                              std::unique_ptr<Transport> transport);

// Makes the executor on a device that is open (queue_set.h).
struct Adapter;
std::unique_ptr<Executor> make_engine_on(std::unique_ptr<Adapter> adapter,
                                         std::unique_ptr<Executor> polled,
                                         std::unique_ptr<Transport> transport);

}  // namespace scela::collectives
