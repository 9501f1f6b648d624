// A rank ends, or stops, in the middle of the work of all. The others say how they hear of it,
// agree, and go on without it.
//
//   fault kill|segv|exit|_exit|failed VICTIM EXECUTOR [COUNT]
//       in a row of allreduces of COUNT numbers
//   fault stop VICTIM EXECUTOR
//       the victim is stopped: waits end at their limits, and all goes on when it does
//   fault message-kill|message-exit VICTIM
//       the others receive from it, send to it and probe
#include "tests/strangers/matrix/programs/said.h"

namespace matrix {
namespace {

constexpr int kTurns = 200;  // before the victim ends

[[noreturn]] void end_by(const std::string& how) {
  if (how == "exit") std::exit(0);  // NOLINT(concurrency-mt-unsafe): the channel stays open
  if (how == "_exit") ::_exit(0);
  if (how == "failed") std::exit(1);  // NOLINT(concurrency-mt-unsafe)
  ::kill(::getpid(), how == "segv" ? SIGSEGV : SIGKILL);
  failed("it lives on");
}

void must_name(const Status& status, int victim) {
  must_say(status, Code::peer_ended, victim, "");
}

void goes_on_without(Here& here, int victim) {
  const auto agreed = here.world.agree(true);
  must(agreed.status, "agree");
  must(agreed.flag && agreed.exited == Numbers{victim}, "they have agreed otherwise");
  Communicator rest = here.world.shrink();
  must(rest, "shrink");
  must(rest.size() == here.size() - 1, "shrink leaves ", rest.size(), " ranks");
  still_works(rest, "those that are left");
  Communicator copy = rest.dup();
  must(copy, "a copy of what is left");
  must(copy.barrier(), "a barrier of the copy");
  say(here.rank(), cat("rank ", victim, " is named, ", rest.size(), " ranks go on"));
}

void operations(Here& here, const std::string& how, int victim, std::size_t count) {
  const std::vector<double> own(count, 1);
  std::vector<double> sums(count);
  for (int turn = 0;; ++turn) {
    if (turn == kTurns && here.rank() == victim) end_by(how);
    Request request = here.world.start(Collective::allreduce(own, sums, ReduceOp::sum));
    const Status status = request.wait(kLimit);
    if (!status.ok()) {
      must(turn >= kTurns - 1, "operation ", turn, ": ", status.message());
      must_say(status, Code::peer_ended, victim, "");
      break;
    }
    must(turn <= kTurns, "an operation without the victim ends well");
    must(sums.front() == here.size() && sums.back() == here.size(), "another sum");
  }
  must_say(here.world.barrier(), Code::peer_ended, victim, "");
  goes_on_without(here, victim);
}

// All others begin, and wait in vain for a time; then the first of them lets the victim go on.
void stop(Here& here, int victim) {
  const int waker = victim == 0 ? 1 : 0;
  pid_t process = ::getpid();
  must(here.world.run(Collective::bcast(std::span(&process, 1), victim)), "where the victim is");
  Numbers own{1}, sum{0};
  if (here.rank() == victim) ::raise(SIGSTOP);
  if (here.rank() != victim) await_stop(process);
  Request request = here.world.start(Collective::allreduce(own, sum, ReduceOp::sum));
  int done = 1;
  if (here.rank() != victim) {
    must_say(request.wait(kShort), Code::timed_out, -1, "it continues");
    must(is_stopped(process), "the victim has not stayed stopped");
    if (here.rank() != waker) must(here.channel->send(waker, 1, bytes_of(done)), "to the waker");
  }
  if (here.rank() == waker) {
    for (int rank = 0; rank < here.size(); ++rank)
      if (rank != victim && rank != waker)
        must(here.channel->recv(rank, 1, bytes_of(done), kWorld, kLimit), "to the waker");
    must(::kill(process, SIGCONT) == 0, "the victim cannot go on");
  }
  must(request.wait(kLimit), "after the victim goes on");
  must(sum[0] == here.size(), "another sum");
  say(here.rank(), "waited for the stopped rank, and all went on");
}

void messages(Here& here, const std::string& how, int victim) {
  if (here.rank() == victim) {
    // Each rank says so by a message, so that it has begun to wait for another one.
    int ready = 0;
    for (int rank = 0; rank < here.size(); ++rank)
      if (rank != victim)
        must(here.channel->recv(rank, 5, bytes_of(ready), kWorld, kLimit), "ready");
    if (how == "message-exit") std::exit(0);  // NOLINT(concurrency-mt-unsafe)
    end_by("kill");
  }
  int word = 0;
  Bytes large(4u << 20), small(16), got(16);
  auto receive = here.channel->irecv(victim, 1, got);
  must(here.channel->send(victim, 5, bytes_of(word)), "to a rank that lives");
  must_name(receive.wait(kLimit), victim);
  must_name(here.channel->send(victim, 2, large), victim);
  must_name(here.channel->send(victim, 2, small), victim);
  must_name(here.channel->probe(victim, 9, kWorld, kLimit), victim);
  must(here.channel->has_exited(victim), "it is not known to have ended");
  auto from_any = here.channel->irecv(kAnySource, 7, got);
  must_say(from_any.wait(kShort), Code::timed_out, -1, "timed out");
  must(from_any.cancel(), "a receive from any rank cannot be withdrawn");
  must_say(from_any.wait(kLimit), Code::cancelled, -1, "");
  goes_on_without(here, victim);
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  const std::string how = argument(argc, argv, 1, "kill");
  const int victim = static_cast<int>(number(argc, argv, 2, 1));
  Here here = open(argument(argc, argv, 3, "polled"));
  if (how.starts_with("message-"))
    messages(here, how, victim);
  else if (how == "stop")
    stop(here, victim);
  else
    operations(here, how, victim, static_cast<std::size_t>(number(argc, argv, 4, 1000)));
  return 0;
}
