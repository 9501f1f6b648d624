// Common parts of the probes of the channel. A probe that finds something wrong says what, and ends
// with status 3.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "comm-channel/include/scela/channel.h"

[[noreturn]] inline void failed(const std::string& why) {
  std::fprintf(stderr, "channel: %s\n", why.c_str());
  std::_Exit(3);
}
inline void must(const scela::Status& status) {
  if (!status.ok()) failed(status.message());
}
inline void must(bool holds, const std::string& what) {
  if (!holds) failed(what);
}
