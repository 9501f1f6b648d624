// The messages of another library as a transport (N7). Communicator::over() uses it. It has the
// thread rule of the library's PointToPoint.
#pragma once

#include <memory>

#include "collectives/executors/factory.h"
#include "collectives/include/scela/point_to_point.h"

namespace scela::collectives {

// Reserve `messages` for one communicator and those made from it, since two families would receive
// each other's messages. take_messages() returns false if it is reserved already;
// give_messages_back() ends the reservation. Any thread may call them.
bool take_messages(const PointToPoint& messages);
void give_messages_back(const PointToPoint& messages);

// Makes a transport (collectives/executors/run/transport.h) that sends and receives by `messages`,
// which must outlive it. Communicators have the contexts from 0 on.
std::unique_ptr<Transport> make_transport_over(PointToPoint& messages);

}  // namespace scela::collectives
