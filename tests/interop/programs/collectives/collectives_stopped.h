// O16: an operation that a rank has started comes to its end, in its memory and at all others,
// while the rank is stopped: no step of its process is needed.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/registry/registry.h"
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"
#include "common/os/process/process_tree.h"
#include "tests/interop/programs/collectives/collectives_probe.h"
#include "tests/support/eventually.h"

namespace scela::collectives::test {

// Returns the state of a process; "T" means that it is stopped.
inline char state_of(pid_t process) {
  ProcessFacts facts;
  facts_of(process, facts);
  return facts.state;
}

inline bool read_from(pid_t process, std::uint64_t address, std::byte* to, std::size_t bytes) {
  if (bytes == 0) return true;
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

inline std::vector<Case> cases_to_stop_in(int ranks) {
  const auto of = [&](Operation operation, std::string_view algorithm, std::size_t blocks,
                      std::uint64_t bytes) {
    Case one;
    one.algorithm = find(operation, algorithm);
    one.shape.operation = operation;
    one.shape.ranks = ranks;
    one.sizes.assign(blocks, bytes);
    return one;
  };
  const auto all = static_cast<std::size_t>(ranks);
  return {of(Operation::barrier, "dissemination", 1, 0),
          of(Operation::bcast, "binomial", 1, 300'000),
          of(Operation::gather, "binomial", all, 100'000),
          of(Operation::allgather, "ring", all, 100'000),
          of(Operation::allgather, "bruck", all, 1000),
          of(Operation::alltoall, "pairwise", all * all, 50'000),
          of(Operation::allreduce, "recursive-doubling", 1, 40'000),
          of(Operation::allreduce, "ring", 1, 400'000)};
}

// Ends the process if one of the probe's own messages has failed.
inline void must_go(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "collectives_probe: %s\n", status.message().c_str());
  std::exit(3);
}

// Stops rank 1 right after start(). Returns what went wrong, or an empty string.
inline std::string stopped(Channel& channel, Executor& executor) {
  constexpr std::uint32_t kContext = 5;
  constexpr std::uint32_t kOther = 9;  // of the probe's own messages
  constexpr int kStopped = 1;
  // Longer than anything that is waited for, and short enough to say what hung.
  constexpr std::chrono::seconds kPatience(40);
  struct Where {
    pid_t process = 0;
    std::uint64_t output = 0;
  };
  const auto bytes_of = [](auto& value) { return std::as_writable_bytes(std::span(&value, 1)); };
  const int rank = channel.rank();
  std::uint32_t tag = 0;
  for (const Case& one : cases_to_stop_in(channel.size())) {
    {  // queues are connected
      Begun before(one, rank, tag++, kContext, executor);
      executor.wait(before.run);
      if (std::string wrong = before.wrong(); !wrong.empty()) return wrong;
    }
    if (rank == kStopped) {
      Begun begun(one, rank, tag++, kContext, executor);
      if (!begun.refused.empty()) return begun.refused;
      Where where{::getpid(), reinterpret_cast<std::uint64_t>(begun.member.call({}).output)};
      for (int other = 0; other < channel.size(); ++other)
        if (other != rank) must_go(channel.send(other, 1, bytes_of(where), kOther));
      ::raise(SIGSTOP);
      // The rank has called nothing since, and all data is here.
      if (std::string wrong = begun.member.wrong(); !wrong.empty()) return wrong;
      executor.wait(begun.run);
      if (std::string wrong = begun.wrong(); !wrong.empty()) return wrong;
      continue;
    }
    Where where;
    must_go(channel.recv(kStopped, 1, bytes_of(where), kOther));
    if (!scela::test::eventually([&] { return state_of(where.process) == 'T'; }))
      return cat(text(one), ": rank 1 does not stop");
    Begun begun(one, rank, tag++, kContext, executor);
    if (!executor.wait(begun.run, kPatience))
      return cat(text(one), ": it waits for the rank that is stopped");
    if (std::string wrong = begun.wrong(); !wrong.empty()) return wrong;
    if (state_of(where.process) != 'T') return "rank 1 was not stopped all the time";
    char done = 1;
    if (rank != 0) {
      must_go(channel.send(0, 2, bytes_of(done), kOther));
      continue;
    }
    for (int other = 2; other < channel.size(); ++other)
      must_go(channel.recv(other, 2, bytes_of(done), kOther));
    // The rank has all data that it must get, or gets it from messages on their way.
    const Member twin(one, kStopped, tag - 1);
    const Call call = twin.call({});
    const std::uint64_t bytes = call.layout->of(Space::output).end();
    std::string wrong;
    bool can_read = true;
    scela::test::eventually([&] {
      can_read = read_from(where.process, where.output, call.output, bytes);
      if (can_read) wrong = twin.wrong();
      return !can_read || wrong.empty();
    });
    if (!can_read) return "the memory of rank 1 cannot be read";
    if (state_of(where.process) != 'T') return "rank 1 was not stopped all the time";
    ::kill(where.process, SIGCONT);
    if (!wrong.empty()) return cat("while it is stopped, ", wrong);
  }
  return {};
}

}  // namespace scela::collectives::test
