// Wrong calls of communicators.
#include <algorithm>
#include <complex>
#include <cstring>

#include "tests/strangers/matrix/programs/misuse.h"

namespace matrix {

namespace {

using scela::Buffer;
using scela::ConstBuffer;
using scela::ElementType;

constexpr int kOther = 1;  // the rank that calls otherwise
constexpr std::string_view kOfNone = "this communicator is empty";

Status run(Communicator& all, const Collective& collective) {
  Request request = all.start(collective);
  return request.wait(kLimit);
}

// All ranks alike are refused, each by itself. The communicator may be given up for it.
void must_be_refused(Here& here, const Collective& collective, Code code, std::string_view words) {
  Communicator copy = here.world.dup();
  must(copy, "a copy");
  must_say(run(copy, collective), code, here.rank(), words);
  must(here.world.barrier(), "a barrier of another communicator");
}

// Returns what the others are told of a call that was refused or differs. The engine names the rank
// only.
std::string_view told(const Here& here, std::string_view words) {
  return here.options.progress == scela::ProgressMode::engine ? std::string_view() : words;
}

}  // namespace

void must_be_given_up(Here& here, int about, std::string_view words) {
  const Status status = run(here.world, Collective::barrier());
  must(status.code() == Code::mismatch, "what comes after ends so: ", status.message());
  must(about < 0 || status.rank() == about, "it is not about rank ", about, ": ", status.message());
  must(status.message().find(told(here, words)) != std::string::npos, "without '", words,
       "': ", status.message());
  Communicator rest = here.world.shrink();
  must(rest, "shrink");
  must(rest.size() == here.size(), "shrink leaves a rank out that lives");
  still_works(rest, "what shrink gives");
  here.world = std::move(rest);
}

void requests(Here& here) {
  const Numbers own{here.rank() + 1};
  Numbers sum(1);
  const Collective all = Collective::allreduce(own, sum, ReduceOp::sum);
  Request request = here.world.start(all);
  must(request.wait(kLimit), "the first wait");
  must(request.wait(kLimit), "a request that is waited for twice has another result");
  Request prepared = here.world.prepare(all);
  must_say(prepared.wait(kLimit), Code::bad_request, here.rank(), "was not started");
  must(prepared.start(), "the start");
  must_say(prepared.start(), Code::bad_request, here.rank(), "it was started twice");
  must(prepared.wait(kLimit), "the wait");
  must(sum[0] == here.size() * (here.size() + 1) / 2, "another sum");
  Request none;
  must(none.wait(kLimit), "the wait for nothing");
  must_say(none.start(), Code::bad_request, -1, "not persistent");
  must(none.test(), "nothing is under way");
}

void types(Here& here) {
  std::vector<std::complex<double>> complex(4), complex_out(4);
  must_be_refused(here, Collective::allreduce(complex, complex_out, ReduceOp::sum),
                  Code::bad_reducer, "elements that are just bytes");
  bool bits[2] = {true, false}, bits_out[2] = {};
  must_be_refused(here,
                  Collective::allreduce(std::span(bits), std::span(bits_out), ReduceOp::logical_or),
                  Code::bad_reducer, "elements that are just bytes");
  std::vector<float> floats(4, 1), floats_out(4);
  must_be_refused(here, Collective::allreduce(floats, floats_out, ReduceOp::bit_and),
                  Code::bad_reducer, "there is no bit-and of float32");
  Numbers own(100, 1), out(100);
  must_be_refused(
      here,
      Collective::allreduce(ConstBuffer(own.data(), 10, 8, ElementType::int32),
                            Buffer(out.data(), 10, 8, ElementType::int32), ReduceOp::sum),
      Code::bad_reducer, "elements of 8 bytes are no int32");
  must_be_refused(
      here,
      Collective::allreduce(own, Buffer(out.data(), 100, 4, ElementType::float32), ReduceOp::sum),
      Code::bad_type, "different element types");
  const auto part = [&](std::size_t from) { return std::span(own).subspan(from, 50); };
  must_be_refused(here, Collective::allreduce(part(0), part(25), ReduceOp::sum), Code::bad_buffer,
                  "input and output overlap");
}

// One rank's call has a null buffer.
void nulls(Here& here) {
  Numbers own(100, 1), out(100);
  const bool differs = here.rank() == kOther;
  const Buffer output = differs ? Buffer(nullptr, 100, 4, ElementType::int32) : Buffer(out);
  const Status status = run(here.world, Collective::allreduce(own, output, ReduceOp::sum));
  if (differs)
    must_say(status, Code::bad_buffer, kOther, "the output is null");
  else
    must_say(status, Code::mismatch, kOther, told(here, "its buffer is null"));
  // The engine's queues end with the first operation that fails (docs/design/collectives.md).
  if (here.options.progress == scela::ProgressMode::engine)
    must_be_given_up(here, kOther, "");
  else
    still_works(here.world, "what comes after a null buffer");
}

void sizes(Here& here) {
  const std::size_t count = here.rank() == kOther ? 50 : 100;
  Numbers own(count, 1), out(count);
  const Status status = run(here.world, Collective::allreduce(own, out, ReduceOp::sum));
  must(status.code() == Code::mismatch, "sizes that differ end so: ", status.message());
  must(status.rank() >= 0 && status.rank() < here.size(), "it names no rank");
  must_be_given_up(here, -1, "its call differs");
}

void kinds(Here& here) {
  Numbers own(100, 1), out(100, 5);
  const Status status =
      run(here.world, here.rank() == kOther ? Collective::barrier()
                                            : Collective::allreduce(own, out, ReduceOp::sum));
  must(status.code() == Code::mismatch, "operations that differ end so: ", status.message());
  must(status.rank() >= 0 && status.rank() < here.size(), "it names no rank");
  must_be_given_up(here, -1, "its call differs");
}

// One rank names a root that does not exist.
void roots(Here& here) {
  Numbers message(100, here.rank());
  const bool differs = here.rank() == kOther;
  const Status status = run(here.world, Collective::bcast(message, differs ? 99 : 0));
  if (differs) must_say(status, Code::bad_root, kOther, "invalid root 99");
  must(differs || status.ok() || (status.code() == Code::mismatch && status.rank() == kOther),
       status.message());
  must_be_given_up(here, kOther, "its root is out of range");
}

// Reductions and roots that differ, which only the checking mode finds.
void checked(Here& here) {
  Numbers own(100, here.rank()), out(100);
  const bool differs = here.rank() == kOther;
  Status status =
      run(here.world, Collective::allreduce(own, out, differs ? ReduceOp::maximum : ReduceOp::sum));
  must_say(status, Code::mismatch, kOther, "");
  status = run(here.world, Collective::bcast(own, differs ? 1 : 0));
  must_say(status, Code::mismatch, kOther, "");
  still_works(here.world, "what comes after calls that differ, where they are checked");
}

// Algorithms that do not exist, or that cannot do the operation, on all ranks alike.
void algorithms(Here& here) {
  Numbers own(100, 1), out(100);
  must_be_refused(here, Collective::allreduce(own, out, ReduceOp::sum).algorithm("quantum"),
                  Code::bad_argument, "allreduce has no algorithm 'quantum'");
  const auto last = scela::Reducer::of(
      [](const std::byte*, const std::byte* right, std::byte* result, std::size_t count) {
        std::memmove(result, right, count * sizeof(int));
      },
      false);
  must_be_refused(here, Collective::allreduce(own, out, last).algorithm("ring"), Code::bad_argument,
                  "ring cannot do this");
  // All ranks have ended what came before: a context that is given up fails what is under way in
  // it.
  Communicator apart = here.new_world();
  must(apart.barrier(), "a barrier of another family");
  must_say(run(here.world, Collective::allreduce(own, out, ReduceOp::sum).algorithm("quantum")),
           Code::bad_argument, here.rank(), "quantum");
  must_be_given_up(here, -1, "its algorithm cannot be used");
}

// The parts have more bytes than can be counted.
void overflow(Here& here) {
  Numbers own(100), out(100);
  constexpr std::size_t kHuge = std::size_t{1} << 62;
  must_be_refused(here,
                  Collective::allgather(ConstBuffer(own.data(), kHuge, 4, ElementType::int32),
                                        Buffer(out.data(), kHuge, 4, ElementType::int32)),
                  Code::bad_count, "more than 2^63 - 1 bytes");
  must_be_refused(
      here,
      Collective::allreduce(ConstBuffer(own.data(), SIZE_MAX / 2, 4, ElementType::int32),
                            Buffer(out.data(), SIZE_MAX / 2, 4, ElementType::int32), ReduceOp::sum),
      Code::bad_count, "more than 2^63 - 1 bytes");
}

void freed(Here& here) {
  Communicator copy = here.world.dup();
  Request prepared = copy.prepare(Collective::barrier());
  if (here.rank() == kOther) {
    copy.free();
    must_say(copy.barrier(), Code::bad_communicator, -1, kOfNone);
    must_say(prepared.start(), Code::bad_communicator, here.rank(), "its communicator was freed");
    copy.free();
    must(copy.size() == 0, "one that was freed has ranks");
  } else {
    must_say(run(copy, Collective::barrier()), Code::mismatch, kOther,
             told(here, "it has freed this communicator"));
  }
  still_works(here.world, "another one");
  Communicator none;
  must_say(none.barrier(), Code::bad_communicator, -1, kOfNone);
  must_say(none.dup().status(), Code::bad_communicator, -1, kOfNone);
  must_say(none.split(0, 0).status(), Code::bad_communicator, -1, kOfNone);
  must_say(none.agree(true).status, Code::bad_communicator, -1, kOfNone);
  must_say(none.shrink().status(), Code::bad_communicator, -1, kOfNone);
  must(none.rank() == -1 && none.size() == 0 && none.nodes() == 0, "one of nothing has ranks");
}

void splits(Here& here) {
  const bool differs = here.rank() == kOther;
  const auto refused = differs ? Code::bad_argument : Code::mismatch;
  const Numbers right{0, 1}, wrong{0, 99}, turned{1, 0}, twice{0, 0};
  must_say(here.world.split(differs ? -5 : 0, 0).status(), refused, kOther,
           differs ? "invalid color -5" : "its call was refused");
  must_say(here.world.subgroup(differs ? wrong : right).status(), refused, kOther,
           differs ? "there is no rank 99" : "its call was refused");
  must_say(here.world.subgroup(differs ? turned : right).status(), Code::mismatch,
           differs ? 0 : kOther, "with other ranks");
  must_say(here.world.subgroup(wrong).status(), Code::bad_argument, here.rank(),
           "there is no rank 99");
  must_say(here.world.subgroup(twice).status(), Code::bad_argument, here.rank(),
           "rank 0 is named twice");
  must_say(here.world.subgroup({}).status(), Code::bad_communicator, -1, kOfNone);
  Communicator two = here.world.subgroup(right);
  if (here.rank() < 2) still_works(two, "a subgroup");
  still_works(here.world, "the world");
}

// One rank lets a request go while it is under way. The others end well, or name the rank that has
// done so.
void dropped(Here& here) {
  const Numbers own{1};
  Numbers sum(1);
  {
    Request request = here.world.start(Collective::allreduce(own, sum, ReduceOp::sum));
    if (here.rank() != kOther) {
      const Status status = request.wait(kLimit);
      must(status.ok() || (status.code() == Code::cancelled && status.rank() == kOther),
           status.message());
      must(!status.ok() || sum[0] == here.size(), "another sum");
    }
  }
  Communicator rest = here.world.shrink();
  must(rest, "shrink");
  still_works(rest, "what shrink gives");
}

void large(Here& here, std::size_t bytes) {
  std::vector<unsigned char> message(bytes);
  const auto value = [](std::size_t i, int rank) {
    return static_cast<unsigned char>(i * 7 + i / 256 + static_cast<std::size_t>(rank));
  };
  for (std::size_t i = 0; i < bytes && here.rank() == 0; ++i)
    message[i] = value(i, 0);
  must(run(here.world, Collective::bcast(message, 0)), "a large broadcast");
  for (std::size_t i = 0; i < bytes; ++i)
    must(message[i] == value(i, 0), "byte ", i, " of the broadcast is another one");
  for (std::size_t i = 0; i < bytes; ++i)
    message[i] = value(i, here.rank());
  must(run(here.world, Collective::allreduce(scela::kInPlace, message, ReduceOp::maximum)),
       "a large allreduce");
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned char most = 0;
    for (int rank = 0; rank < here.size(); ++rank)
      most = std::max(most, value(i, rank));
    must(message[i] == most, "byte ", i, " of the allreduce is another one");
  }
}

void thrown(Here& here) {
  const Numbers own{1};
  Numbers sum(1);
  const auto throws = scela::Reducer::of([](auto...) { throw 1; }, true);
  must(!run(here.world, Collective::allreduce(own, sum, throws)).ok(),
       "an operation that throws ends well");
}

}  // namespace matrix
