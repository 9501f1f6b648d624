// Makes the engine executor: an adapter's engine executes the lists. A list is posted whole when it
// is started, if the queues hold it, and then needs no call of this process until it is over (O16).
// Communicators use it (CommunicatorMaker::by_engine).
#pragma once

#include <memory>

#include "collectives/executors/factory.h"

namespace scela::collectives {

// Makes the executor on an adapter of this machine. Returns an error if none can execute tasks. The
// executor owns both arguments. `polled` is a polled executor. It moves the operations with a
// reduction that the adapter cannot compute, and all operations that are checked. By `transport`
// ranks tell each other the attributes of their queues, and learn which ranks have ended. One
// thread may call the executor at a time.
Result<std::unique_ptr<Executor>> make_engine(std::unique_ptr<Executor> polled,
                                              std::unique_ptr<Transport> transport);

// Makes the executor on a device that is open (queue_set.h), which it owns. The other arguments are
// those of make_engine().
struct Adapter;
std::unique_ptr<Executor> make_engine_on(std::unique_ptr<Adapter> adapter,
                                         std::unique_ptr<Executor> polled,
                                         std::unique_ptr<Transport> transport);

}  // namespace scela::collectives
