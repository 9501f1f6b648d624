// The messages of another library as a transport (N7). Communicator::over() uses it. It has the
// thread rule of the library's PointToPoint.
#pragma once

#include <memory>

#include "collectives/executors/factory.h"
#include "collectives/include/scela/point_to_point.h"

namespace scela::collectives {

// Makes a transport. `messages` must outlive it. Communicators have the contexts from 0 on.
std::unique_ptr<Transport> make_transport_over(PointToPoint& messages);

}  // namespace scela::collectives
