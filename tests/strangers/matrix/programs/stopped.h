// One rank is stopped while an operation is under way. The others look if it ends for them, and if
// the stopped rank's memory has its result.
//
//   whole   it is stopped right after start(): all others end, and its memory has the whole result,
//           while it is stopped
//   parts   as whole, of an operation that its queues do not hold: its counters say so, and all
//           ends when it goes on
//   held    as whole, by an executor that needs the process: the rank behind it waits until it goes
//           on
//   before  it is stopped before start(): the rank behind it waits until it goes on
#pragma once

#include <sys/uio.h>

#include <functional>

#include "tests/strangers/matrix/programs/said.h"

namespace matrix {

constexpr int kVictim = 1;

struct Stopped {
  std::function<Collective()> make;
  std::span<std::byte> result;
  std::function<bool(std::span<const std::byte>)> right;
};

struct Where {
  pid_t process = 0;
  std::uint64_t result = 0;
};

// Returns the places of all ranks. Each rank sends to all, so that each two have a connection
// before one is stopped.
inline std::vector<Where> places(Here& here, const Stopped& work) {
  Where own{::getpid(), reinterpret_cast<std::uint64_t>(work.result.data())};
  std::vector<Where> all(static_cast<std::size_t>(here.size()), own);
  for (int rank = 0; rank < here.size(); ++rank)
    if (rank != here.rank()) must(here.channel->send(rank, 3, bytes_of(own)), "where it is");
  for (int rank = 0; rank < here.size(); ++rank)
    if (rank != here.rank())
      must(here.channel->recv(rank, 3, bytes_of(all[static_cast<std::size_t>(rank)]), kWorld,
                              kLimit),
           "where it is");
  return all;
}

inline void is_stopped_here(Here& here, const Stopped& work, const std::string& how) {
  Request request;
  if (how != "before") request = here.world.start(work.make());
  const bool told = here.world.engine_counters().in_parts > 0;
  ::raise(SIGSTOP);
  // The rank has not called the library since start().
  const bool there = work.right(work.result);
  if (how == "before") request = here.world.start(work.make());
  if (how == "whole") must(there, "its result is not in its memory when it goes on");
  must(told == (how == "parts"),
       told ? "it was not posted whole" : "nothing says that it was not posted whole");
  must(request.wait(kLimit), "the wait of the stopped rank");
  must(work.right(work.result), "the result of the stopped rank");
  say(here.rank(), cat("right after it was stopped, ", how));
}

inline void looks_at(const Stopped& work, const Where& victim) {
  Bytes seen(work.result.size());
  const iovec to{seen.data(), seen.size()};
  const iovec from{reinterpret_cast<void*>(victim.result), seen.size()};
  const auto enough = std::chrono::steady_clock::now() + kLimit;
  do {
    must(std::chrono::steady_clock::now() < enough,
         "the stopped rank's memory does not get its result");
    must(::process_vm_readv(victim.process, &to, 1, &from, 1, 0) ==
             static_cast<ssize_t>(seen.size()),
         "the stopped rank's memory cannot be read");
  } while (!work.right(seen));
}

inline void goes_on_beside(Here& here, const Stopped& work, const std::string& how,
                           const Where& victim) {
  await_stop(victim.process);
  Request request = here.world.start(work.make());
  const bool must_wait = (how == "held" || how == "before") && here.rank() == kVictim + 1;
  const Status status = request.wait(how == "whole" ? kLimit : std::chrono::nanoseconds(kShort));
  must(status.ok() || status.code() == Code::timed_out, status.message());
  must(how != "whole" || status.ok(), "it is held up by a stopped rank that has started");
  must(!must_wait || !status.ok(), "it is over without the stopped rank");
  must(!status.ok() || work.right(work.result), "it is over, with another result");
  int word = 0;
  if (here.rank() != 0) must(here.channel->send(0, 4, bytes_of(word)), "to rank 0");
  if (here.rank() == 0) {
    for (int rank = 0; rank < here.size(); ++rank)
      if (rank != 0 && rank != kVictim)
        must(here.channel->recv(rank, 4, bytes_of(word), kWorld, kLimit), "to rank 0");
    if (how == "whole") looks_at(work, victim);
    must(is_stopped(victim.process), "the rank has not stayed stopped");
    must(::kill(victim.process, SIGCONT) == 0, "the stopped rank cannot go on");
  }
  if (!status.ok()) must(request.wait(kLimit), "after the stopped rank goes on");
  must(work.right(work.result), "another result");
  say(here.rank(), cat("right beside a stopped rank, ", how));
}

inline void with_one_stopped(Here& here, const Stopped& work, const std::string& how) {
  const std::vector<Where> all = places(here, work);
  if (here.rank() == kVictim)
    is_stopped_here(here, work, how);
  else
    goes_on_beside(here, work, how, all[kVictim]);
  must(here.world.barrier(), "at the end");
}

}  // namespace matrix
