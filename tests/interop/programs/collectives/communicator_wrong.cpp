// Ranks that call wrongly. The last one does, or all do. Each must be told what is wrong and which
// rank's fault it is, none waits for ever, and the communicator goes on.
//
//   calls sizes roots types reductions algorithms   one rank calls otherwise than the others; only
//                                                   if calls are checked (SCELA_COLL_CHECK)
//   null overlap reduction place                    one rank's call is refused
//   root parts                                      one rank's call is refused, and its list is not
//                                                   known: without checks the communicator ends
//   alone                                           one rank frees what the others go on with
//   last                                            as alone, the only one of its channel
//   freed waited started                            a call on what is over, or under way
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"
#include "tests/interop/programs/collectives/communicator_check.h"

using namespace scela;

namespace {

using Numbers = std::vector<int>;

bool is_checked() {
  const char* const said = std::getenv("SCELA_COLL_CHECK");
  return said != nullptr && *said == '1';
}

void must_say(const Status& status, Code code, int rank, const std::string& words) {
  const std::string said =
      cat("'", status.message(), "' (", name_of(status.code()), ", rank ", status.rank(), ")");
  must(status.code() == code, cat(said, " is not: ", name_of(code)));
  must(status.rank() == rank, cat(said, " is not about rank ", rank));
  must(status.message().find(words) != std::string::npos, cat(said, " does not say '", words, "'"));
}

void still_works(Communicator& world) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{20'000}}) {
    const Numbers own(count, world.rank() + 1);
    Numbers sum(count);
    must(world.run(Collective::allreduce(own, sum, ReduceOp::sum)), "what comes after");
    must(sum == Numbers(count, world.size() * (world.size() + 1) / 2), "the sum that comes after");
  }
}

// Runs the call in all forms. `check` gets the status of each.
void in_all_forms(Communicator& world, const Collective& call,
                  const std::function<void(const Status&)>& check) {
  check(world.run(call));
  still_works(world);
  Request begun = world.start(call);
  check(begun.wait());
  Request prepared = world.prepare(call);
  for (int time = 0; time < 2; ++time) {
    const Status refused = prepared.start();
    check(refused.ok() ? prepared.wait() : refused);
    if (!refused.ok()) check(prepared.wait());
  }
  // Other operations are under way meanwhile.
  Numbers one{world.rank()}, sum(1);
  Request meanwhile = world.start(Collective::allreduce(one, sum, ReduceOp::sum));
  check(world.run(call));
  must(meanwhile.wait(), "what was under way meanwhile");
  must(sum[0] == world.size() * (world.size() - 1) / 2, "the sum of what was under way");
  still_works(world);
}

constexpr std::size_t kCounts[] = {1, 3, 2'000, 40'000};

// The last rank calls otherwise: all ranks are told its name, and it is told so as well.
void otherwise(Communicator& world, const std::string& what) {
  const int last = world.size() - 1;
  const bool differs = world.rank() == last;
  for (const std::size_t count : kCounts) {
    Numbers own(count + 1), out(count + 1), all((count + 1) * (world.size() + 1u));
    std::vector<float> floats(count), float_sum(count);
    const auto numbers = std::span(own).first(count);
    const auto sum = std::span(out).first(count);
    Collective call = Collective::allreduce(numbers, sum, ReduceOp::sum);
    std::string words = "rank 0";
    if (what == "calls") {
      if (differs) call = Collective::bcast(sum, 0);
      words = "it calls bcast; rank 0";
    } else if (what == "sizes") {
      if (differs) call = Collective::allreduce(own, out, ReduceOp::sum);
      words = cat("it has ", (count + 1) * 4, " bytes for each rank; rank 0");
    } else if (what == "roots") {
      call = Collective::bcast(sum, differs ? last : 0);
      words = cat("its root is rank ", last, "; rank 0");
    } else if (what == "types") {
      if (differs) call = Collective::allreduce(floats, float_sum, ReduceOp::sum);
      words = "its elements are float32; rank 0";
    } else if (what == "reductions") {
      if (differs) call = Collective::allreduce(numbers, sum, ReduceOp::maximum);
      words = "it reduces by maximum; rank 0";
    } else {
      call.algorithm(differs ? "ring" : "recursive-doubling");
      words = "it goes by ring, 1 segments, radix 2; rank 0";
    }
    in_all_forms(world, call,
                 [&](const Status& status) { must_say(status, Code::mismatch, last, words); });
  }
}

// The last rank's call is refused with `code`; the others are told so.
void refused(Communicator& world, const Collective& right, const Collective& wrong, Code code,
             const std::string& own_words, const std::string& words) {
  const int last = world.size() - 1;
  in_all_forms(world, world.rank() == last ? wrong : right, [&](const Status& status) {
    if (world.rank() == last)
      must_say(status, code, last, own_words);
    else
      must_say(status, Code::mismatch, last, cat("was refused: ", words));
  });
}

void refused(Communicator& world, const std::string& what) {
  for (const std::size_t count : kCounts) {
    Numbers own(count), out(count), all(count * static_cast<std::size_t>(world.size()));
    std::vector<float> floats(count);
    const Collective sum = Collective::allreduce(own, out, ReduceOp::sum);
    if (what == "null") {
      refused(world, sum,
              Collective::allreduce(ConstBuffer(nullptr, count, 4, ElementType::int32), out,
                                    ReduceOp::sum),
              Code::bad_buffer, "the input is null", "its buffer is null");
      refused(world, Collective::allgather(own, all),
              Collective::allgather(own, Buffer(nullptr, all.size(), 4, ElementType::int32)),
              Code::bad_buffer, "the output is null", "its buffer is null");
    } else if (what == "overlap") {
      refused(world, sum, Collective::allreduce(own, own, ReduceOp::sum), Code::bad_buffer,
              "overlap", "its buffers overlap");
      refused(world, Collective::allgather(own, all),
              Collective::allgather(std::span(all).first(count), all), Code::bad_buffer, "overlap",
              "its buffers overlap");
    } else if (what == "reduction") {
      refused(world, sum, Collective::allreduce(kInPlace, floats, ReduceOp::bit_and),
              Code::bad_reducer, "bit-and", "its reduction does not support the element type");
    } else if (what == "root") {
      refused(world, Collective::bcast(out, 0), Collective::bcast(out, world.size()),
              Code::bad_root, cat("invalid root ", world.size()), "its root is out of range");
    } else {
      refused(world, sum, Collective::allreduce(std::span(all), out, ReduceOp::sum),
              Code::bad_count, "the input has", "its buffer sizes do not match");
    }
  }
}

void misused(Communicator& world, const std::string& what) {
  const int self = world.rank();
  Numbers own{self}, sum(1);
  const Collective call = Collective::allreduce(own, sum, ReduceOp::sum);
  if (what == "freed") {
    Communicator copy = world.dup();
    Request begun = copy.start(call);
    copy.free();
    must_say(copy.run(call), Code::bad_communicator, -1, "it was freed");
    must_say(copy.start(call).wait(), Code::bad_communicator, -1, "it was freed");
    must_say(copy.prepare(call).start(), Code::bad_communicator, -1, "it was freed");
    must_say(copy.dup().status(), Code::bad_communicator, -1, "it was freed");
    must(begun.wait(), "what was begun before");
  } else if (what == "waited") {
    Request begun = world.start(call);
    must(begun.wait(), "the first wait");
    must(begun.wait(), "the second wait");
    must(begun.test(), "what is over is not over");
    Request moved = std::move(begun);
    must(moved.wait(), "a wait for the request that was moved");
    must(begun.wait(), "a wait for a request of nothing");
    must(begun.test(), "a request of nothing is under way");
    // A refused call keeps its error as well.
    Request refused = Communicator().start(call);
    for (int time = 0; time < 2; ++time)
      must_say(refused.wait(), Code::bad_communicator, -1, "it was freed");
  } else {
    Request prepared = world.prepare(call);
    must_say(prepared.wait(), Code::bad_request, self, "was not started");
    must(prepared.start(), "start");
    must_say(prepared.start(), Code::bad_request, self, "it was started twice");
    must(prepared.wait(), "wait");
    must(prepared.wait(), "the second wait");
    must(prepared.start(), "start again");
    must(prepared.wait(), "wait again");
    Request begun = world.start(call);
    must_say(begun.start(), Code::bad_request, self, "only an operation that was prepared");
    must(begun.wait(), "wait");
  }
  must(sum[0] == world.size() * (world.size() - 1) / 2, "the sum");
  still_works(world);
}

// Calls are not compared here: the last rank's list is not known. All its ranks give up the
// communicator, but no other one.
void given_up(Communicator& world, const std::string& what) {
  const int last = world.size() - 1;
  const bool is_last = world.rank() == last;
  const std::string words =
      what == "root" ? "its root is out of range" : "its buffer sizes do not match";
  for (const std::size_t count : kCounts) {
    Communicator copy = world.dup();
    Numbers own(count), out(count), one{1}, sum(1);
    Request meanwhile = world.start(Collective::allreduce(one, sum, ReduceOp::sum));
    const Collective wrong =
        what == "root" ? Collective::bcast(out, -1)
                       : Collective::allreduce(std::span(own).first(count - 1), out, ReduceOp::sum);
    const Collective right = what == "root" ? Collective::bcast(out, last)
                                            : Collective::allreduce(own, out, ReduceOp::sum);
    Request before = copy.start(is_last ? wrong : right);
    const Status told = before.wait();
    if (is_last)
      must_say(told, what == "root" ? Code::bad_root : Code::bad_count, last,
               cat("by rank ", last));
    else
      must_say(told, Code::mismatch, last, cat("was refused: ", words));
    const Status after = copy.run(Collective::allreduce(own, out, ReduceOp::sum));
    must(after.code() == Code::mismatch && after.rank() == last, after.message());
    must(meanwhile.wait(), "what another communicator had under way");
    still_works(world);
    Communicator another = copy.shrink();
    must(another.status(), "shrink");
    still_works(another);
  }
}

// The last rank alone frees what the others go on with. All of them are told its name, also a rank
// that waits for an operation of `other`, which has another executor.
void freed_alone(Communicator& world, Communicator other) {
  must(other.status(), "another communicator");
  const int last = world.size() - 1;
  const std::string words = cat("rank ", last, ": it has freed this communicator");
  for (const std::size_t count : kCounts) {
    Communicator copy = world.dup();
    const auto ranks = static_cast<std::size_t>(world.size());
    Numbers own(count, 1), out(count), all(count * ranks), to(count * ranks);
    const auto sum = Collective::allreduce(own, out, ReduceOp::sum);
    must(copy.run(sum), "what all call");
    if (world.rank() == last) {
      copy.free();
      must(other.barrier(), "a barrier of the other");
    } else {
      if (world.rank() != 0) must(other.barrier(), "a barrier of the other");
      const auto alltoall = Collective::alltoall(all, to);
      if (count == 3 || count == 40'000) {  // under way when it is found out
        Request meanwhile = copy.start(alltoall);
        must_say(meanwhile.wait(), Code::mismatch, last, words);
      }
      const auto from_first = Collective::bcast(out, 0).algorithm("flat");
      Status status;
      while (status.ok())
        status = copy.run(from_first);
      must_say(status, Code::mismatch, last, words);
      must_say(copy.run(sum), Code::mismatch, last, words);
      must_say(copy.shrink().status(), Code::mismatch, last, words);
      if (world.rank() == 0) must(other.barrier(), "a barrier of the other");
    }
    still_works(world);
  }
}

bool is_one_of(const std::string& what, std::initializer_list<const char*> words) {
  for (const char* const word : words)
    if (what == word) return true;
  return false;
}

}  // namespace

bool wrongly(Communicator& world, const std::string& what,
             const std::function<Communicator()>& another) {
  if (is_one_of(what, {"calls", "sizes", "roots", "types", "reductions", "algorithms"})) {
    must(is_checked(), what + " are compared where calls are checked");
    otherwise(world, what);
  } else if (is_one_of(what, {"null", "overlap", "reduction", "root", "parts"})) {
    const bool is_known = !is_one_of(what, {"root", "parts"});
    if (is_known || is_checked())
      refused(world, what);
    else
      given_up(world, what);
  } else if (what == "alone") {
    freed_alone(world, another());
  } else if (is_one_of(what, {"freed", "waited", "started"})) {
    misused(world, what);
  } else {
    return false;
  }
  return true;
}

void freed_last(Channel& channel, Communicator world) {
  const int last = world.size() - 1;
  Numbers out(40'000, 1);
  const auto from_first = Collective::bcast(out, 0).algorithm("flat");
  must(world.run(from_first), "what all call");
  if (world.rank() == last) {
    world.free();
  } else {
    Status status;
    while (status.ok())
      status = world.run(from_first);
    must_say(status, Code::mismatch, last, cat("rank ", last, ": it has freed this communicator"));
  }
  // No rank ends before all have been told.
  std::byte word{};
  if (channel.rank() != 0) {
    must(channel.send(0, 1, {&word, 1}), "a send");
    must(channel.recv(0, 1, {&word, 1}), "a receive");
    return;
  }
  for (int rank = 1; rank < channel.size(); ++rank)
    must(channel.recv(rank, 1, {&word, 1}), "a receive");
  for (int rank = 1; rank < channel.size(); ++rank)
    must(channel.send(rank, 1, {&word, 1}), "a send");
}
