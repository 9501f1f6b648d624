// Calls that are wrong: each has an error that names what is wrong and the rank, and the same kind
// of end on all ranks.
//
//   misuse CASE EXECUTOR [BYTES]
#include <sys/wait.h>

#include <algorithm>

#include "tests/strangers/matrix/programs/misuse.h"

namespace matrix {

// A child process has no part in what its parent has, and disturbs nothing.
void children(Here& here) {
  int value = here.rank();
  const int next = (here.rank() + 1) % here.size();
  const pid_t process = ::fork();
  if (process == 0) {
    must_say(here.channel->send(next, 2, bytes_of(value)), Code::closed, -1,
             "in a child process (fork)");
    must_say(here.world.barrier(), Code::closed, here.rank(), "in a child process (fork)");
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): what the parent has registered runs here
  }
  int status = -1;
  must(::waitpid(process, &status, 0) == process && status == 0, "the child ends otherwise");
  still_works(here.world, "the parents' communicator");
  // If all others have ended by then, the probe says that.
  const std::optional<Status> found = here.channel->iprobe(kAnySource, 2);
  must(!found || found->code() == Code::peer_ended, "a message of a child has come");
}

void closed_first(Here& here) {
  const Numbers own{1};
  Numbers sum(1);
  Request request = here.world.start(Collective::allreduce(own, sum, ReduceOp::sum));
  here.channel.reset();
  const Status status = request.wait(kLimit);
  must(status.code() != Code::timed_out, "a wait whose channel was closed does not end");
  must(!status.ok() || sum[0] == here.world.size(), "another sum");
  const Status later = here.world.barrier();
  must(!later.ok(), "a barrier without a channel ends well");
  // It may have heard of another rank's end by then.
  const bool says_why =
      later.message().find("closed") != std::string::npos || later.code() == Code::peer_ended;
  must(says_why, "it does not say why: ", later.message());
}

void after(Here& here, bool reopens) {
  Bytes bytes(64);
  auto request = here.channel->irecv(kAnySource, 5, bytes);
  must(here.world.barrier(), "before");
  here.world = Communicator();
  here.channel.reset();
  must(request.test(), "a request whose channel was closed goes on");
  must_say(request.wait(kLimit), Code::closed, -1,
           "the channel was closed before the request was complete");
  auto again = Channel::open();
  must((again.channel != nullptr) == reopens,
       "it is opened again otherwise: ", again.status.message());
  if (!reopens) return;
  Bytes got(64);
  const int own = again.channel->rank(), next = (own + 1) % again.channel->size();
  must(again.channel->send(next, 1, Bytes(64, std::byte{7})), "a send by the second channel");
  must(again.channel->recv(kAnySource, 1, got, kWorld, kLimit), "a receive by the second channel");
  must(got == Bytes(64, std::byte{7}), "other bytes have come by the second channel");
}

namespace {

struct Case {
  std::string_view name;
  void (*run)(Here& here);
};

constexpr Case kCases[] = {
    {"arguments", arguments},   {"requests-of-messages", requests_of_messages},
    {"lengths", lengths},       {"threads", threads},
    {"twice", twice},           {"requests", requests},
    {"types", types},           {"nulls", nulls},
    {"sizes", sizes},           {"kinds", kinds},
    {"roots", roots},           {"checked", checked},
    {"algorithms", algorithms}, {"overflow", overflow},
    {"freed", freed},           {"splits", splits},
    {"dropped", dropped},       {"thrown", thrown},
    {"children", children},     {"closed-first", closed_first},
};

void run(Here& here, const std::string& name, std::size_t bytes) {
  if (name == "unmapped") return unmapped(here, bytes);
  if (name == "large") return large(here, bytes);
  if (name == "reopens" || name == "opens-once") return after(here, name == "reopens");
  const auto found = std::ranges::find(kCases, name, &Case::name);
  must(found != std::end(kCases), "there is no case ", name);
  found->run(here);
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  const std::string name = argument(argc, argv, 1, "");
  Here here = open(argument(argc, argv, 2, "polled"), name == "threads", name == "checked");
  const int rank = here.rank();
  run(here, name, static_cast<std::size_t>(number(argc, argv, 3, 0)));
  say(rank, cat(name, " ends as it has to"));
  return 0;
}
