// What the parts of communicator_probe share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "collectives/include/scela/communicator.h"

// Whoever finds something wrong says what, and ends with status 3.
[[noreturn]] inline void failed(const std::string& why) {
  std::fprintf(stderr, "communicator: %s\n", why.c_str());
  std::_Exit(3);
}
inline void must(const scela::CollectiveError& error, const std::string& what) {
  if (error) failed(what + ": " + error.text());
}
inline void must(bool holds, const std::string& what) {
  if (!holds) failed(what);
}

// All operations, types and sizes, in all forms.
void operations(scela::Communicator& world);
// Several under way at once, of one communicator and of some that overlap.
void flights(scela::Communicator& world, scela::RunBy by);
// More messages with a peer than an adapter's queues hold.
void longer(scela::Communicator& world, scela::RunBy by);
// Where progress threads run. Before the channel is opened: those that there are.
std::vector<int> leave_all_processors_but_one();
void binding(scela::channel::Channel& channel, const scela::Communicator& world,
             const std::vector<int>& all);
// The last rank alone frees the only communicator of its channel: a large message that was offered
// to it is taken by nobody.
void freed_last(scela::channel::Channel& channel, scela::Communicator world);
// What one rank, or several, do wrongly: `what` says what. False: there is no such thing. `another`
// makes one of all ranks that has nothing to do with `world`.
bool wrongly(scela::Communicator& world, const std::string& what,
             const std::function<scela::Communicator()>& another);
