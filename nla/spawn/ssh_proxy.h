// The command that leads to a host which is not reached directly (ProxyCommand of ssh).
#pragma once

#include <string>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::nla {

struct Proxy {
  Fd stream;  // to what the command connects to
  Fd errors;  // what it says
};

// Its process is reaped as any child.
Result<Proxy> start_proxy(const std::string& command);

}  // namespace scela::nla
