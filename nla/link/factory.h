// The link, and the transport to which links can change while they run. Used by the shell, on its
// loop.
#pragma once

#include "nla/link/link.h"
#include "nla/link/tls.h"
