// The messages of another library as a transport (N7). Communicator::over() uses it. It has the
// thread rule of the library's PointToPoint.
#pragma once

#include <memory>

#include "collectives/executors/factory.h"
#include "collectives/include/scela/point_to_point.h"

namespace scela::collectives {

// Reserves `messages` for one communicator and those made from it, since two families would receive
// each other's messages. Returns false if it is reserved already. Any thread may call it.
bool take_messages(const PointToPoint& messages);
// Ends the reservation of take_messages(). Any thread may call it.
void give_messages_back(const PointToPoint& messages);

// Makes a transport (collectives/executors/run/message_transport.h) that sends and receives by
// `messages`, which must outlive it. Communicators have the contexts from 0 on.
std::unique_ptr<Transport> make_transport_over(PointToPoint& messages);

}  // namespace scela::collectives
