// Includes the link between two agents (link.h), and the TLS transport to which links can change
// while they run (tls.h). The shell, the code around an agent's core that makes system calls, uses
// both on its loop.
#pragma once

#include "nla/link/link.h"
#include "nla/link/tls.h"
