// Common parts of communicator_probe.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "collectives/include/scela/communicator.h"

// A rank that finds something wrong says what, and ends with status 3.
[[noreturn]] inline void failed(const std::string& why) {
  std::fprintf(stderr, "communicator: %s\n", why.c_str());
  std::_Exit(3);
}
inline void must(const scela::Status& status, const std::string& what) {
  if (!status.ok()) failed(what + ": " + status.message());
}
inline void must(bool holds, const std::string& what) {
  if (!holds) failed(what);
}

// Runs all operations, types and sizes, in all forms.
void operations(scela::Communicator& world);
// Runs several operations at once, on one communicator and on some that overlap.
void flights(scela::Communicator& world, scela::ProgressMode by);
// Runs operations of more messages with a peer than an adapter's queues hold.
void longer(scela::Communicator& world, scela::ProgressMode by);
// Checks where progress threads run. The first function is called before the channel is opened, and
// returns the processors that there were.
std::vector<int> leave_all_processors_but_one();
void binding(scela::Channel& channel, const scela::Communicator& world,
             const std::vector<int>& all);
// The last rank alone frees the only communicator of its channel. No rank takes a large message
// that was offered to it.
void freed_last(scela::Channel& channel, scela::Communicator world);
// One rank, or several, call wrongly, as `what` says. Returns false if there is no such case.
// `another` makes a communicator of all ranks that has nothing to do with `world`.
bool wrongly(scela::Communicator& world, const std::string& what,
             const std::function<scela::Communicator()>& another);
