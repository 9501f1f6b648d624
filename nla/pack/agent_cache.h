// The packages of agents that a node keeps in the user's cache, so that later runs send only a
// digest. Each is a file scela-nla-SHA256 in $XDG_CACHE_HOME/scela or ~/.cache/scela. The command
// of nla/core/tree/remote_shell.h looks there and verifies the package before it runs it. A package
// that was sent gets that name once it has been unpacked (nla/pack/unpack.c), so that nothing
// incomplete ever has it.
//
// The functions block on the file system. Errors are ignored, because the job does not need the
// cache.
#pragma once

#include <string>

namespace scela::nla {

// So many packages are kept; with a new one, the ones that were used least recently are removed. A
// build has two: the agent's and the small agent's.
inline constexpr int kCachedPackages = 6;

// Notes that the package in the file was used now.
void note_package_use(const std::string& file);

// Removes what the new package in `file` makes too many in its folder, and what starts have left
// there that were cut off.
void remove_old_packages(const std::string& file);

}  // namespace scela::nla
