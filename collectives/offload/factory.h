// An adapter's engine as an executor: lists are posted whole when they are started, and need no
// step of this process until they are over (O16).
#pragma once

#include <memory>

#include "collectives/executors/factory.h"

namespace scela::collectives {

// Operations whose reduction the adapter cannot compute are moved by `polled`, as the caller's
// other operations may be. `transport` is its own: by it ranks tell each other of their queues, and
// learn which ranks have ended. For one thread at a time.
Result<std::unique_ptr<Executor>> make_engine(std::unique_ptr<Executor> polled,
                                              std::unique_ptr<Transport> transport);

// The same, by a device that is open (queue_set.h).
struct Adapter;
std::unique_ptr<Executor> make_engine_on(std::unique_ptr<Adapter> adapter,
                                         std::unique_ptr<Executor> polled,
                                         std::unique_ptr<Transport> transport);

}  // namespace scela::collectives
