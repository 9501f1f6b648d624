// More copies of a communicator than there are contexts of one family: messages of communicators
// that live do not meet.
//
//   ctxwrap EXECUTOR [COUNT]
#include "tests/strangers/matrix/programs/said.h"

namespace matrix {
namespace {

// Each rank begins with another communicator, unless beginning waits: messages that could meet
// would.
void apart(Communicator& one, Communicator& other, bool waits) {
  const bool one_first = waits || one.rank() == 0;
  Numbers of_one{one.rank() == 0 ? 111 : 0}, of_other{other.rank() == 0 ? 222 : 0};
  Request first, second;
  if (one_first) first = one.start(Collective::bcast(of_one, 0));
  second = other.start(Collective::bcast(of_other, 0));
  if (!one_first) first = one.start(Collective::bcast(of_one, 0));
  must(first.wait(kLimit), "of the one");
  must(second.wait(kLimit), "of the other");
  must(of_one[0] == 111 && of_other[0] == 222, "messages of two have met: ", of_one[0], " and ",
       of_other[0]);
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  Here here = open(argument(argc, argv, 1, "polled"));
  const long count = number(argc, argv, 2, 100'000);
  Communicator other = here.new_world();
  Communicator self = here.world.split(here.rank(), 0);
  for (long i = 0; i < count; ++i) {
    Communicator copy = self.dup();
    must(copy, "copy ", i, " of a communicator of one");
  }
  Communicator copy = here.world.dup();
  must(copy, "a copy of all");
  apart(copy, other, here.options.progress == scela::ProgressMode::at_once);
  copy.free();
  still_works(other, "what is left after one was freed");
  still_works(here.world, "the world");
  say(here.rank(), cat(count, " copies, and no messages met"));
  return 0;
}
