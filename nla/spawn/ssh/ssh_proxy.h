// The command that leads to a host which is not reached directly (ProxyCommand of ssh). The ssh
// session uses it. It keeps no state.
#pragma once

#include <string>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::nla {

// The two streams of a proxy command that runs.
struct Proxy {
  Fd stream;  // to the host that the command reaches
  Fd errors;  // its standard error
};

// Runs the command by /bin/sh. Blocks as start_child() does, until the process exists. Its process
// is reaped as any child. Error (launch): it cannot be started.
Result<Proxy> start_proxy(const std::string& command);

}  // namespace scela::nla
