// The work of all ranks of a job, as plain data: every rank reads the same plan and carries out its
// own part. A plan has a text form, one step a line, which is parsed back.
//
//   plan seed 7 ranks 3
//   1 world as 0 by polled check 0
//   2 message from 0 to 2 tag 5 context 0 bytes 4097 room 4097 times 1 sending isend receiving
//     probe pattern exact
//   3 collective of 0 operation bcast type uint8 reduction sum count 70000 root 1 in_place 0
//     calling start times 1 algorithm -
//   4 wait order random some 1
//
// (Here long steps are broken into two lines.) Any line but the first may be removed, and what is
// left is a plan: a step that needs a communicator that does not exist is passed over by all ranks
// alike (scenes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <scela/communicator.h>

namespace strangers {

enum class Kind : std::uint8_t {
  world,  // of these seven each makes a communicator
  dup,
  split,
  subgroup,
  node,
  leaders,
  shrink,
  free,
  message,  // from one rank to another, or to itself
  burst,    // messages among all ranks, all begun at once
  collective,
  wait,     // for what this rank has begun
  cancel,   // each rank withdraws a receive that no message meets
  reserve,  // contexts, in one of which messages go round
  agree,
  end,      // a rank ends before the step numbered `at`
  recover,  // the others free what the dead was in
};

enum class Sending : std::uint8_t { send, isend, issend, persistent };
enum class Receiving : std::uint8_t { recv, irecv, probe, improbe, persistent };
enum class Pattern : std::uint8_t { exact, any_source, any_tag, any };
enum class Operation : std::uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter_block,
  scan,
  exscan,
  gatherv,
  scatterv,
  allgatherv,
  alltoallv,
  reduce_scatter,
};
// The library's, in its order, and two of the program's own.
enum class Reduction : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  logical_and,
  logical_or,
  logical_xor,
  bit_and,
  bit_or,
  bit_xor,
  minloc,
  maxloc,
  own_xor,     // of uint64; commutes
  own_affine,  // of opaque elements of 8 bytes; does not commute
};
enum class Calling : std::uint8_t { run, start, prepare };
enum class Order : std::uint8_t { forward, reverse, random, test, any, all, messages, operations };
enum class Ending : std::uint8_t { kill, exit, quick_exit, leave };

struct Step {
  std::uint64_t number = 0;  // ascending; what the step moves depends on it, not on other steps
  Kind kind = Kind::wait;

  int of = 0, as = 0;  // communicators: the used and the made one
  scela::ProgressMode by = scela::ProgressMode::polled;
  bool check = false;
  std::vector<int> list, keys;  // colors, or ranks; keys of a split

  int from = 0, to = 0, tag = 0, context = 0;
  std::uint64_t bytes = 0, room = 0;
  int times = 1;
  Sending sending = Sending::send;
  Receiving receiving = Receiving::recv;
  Pattern pattern = Pattern::exact;

  Operation operation = Operation::barrier;
  scela::ElementType type = scela::ElementType::uint8;
  Reduction reduction = Reduction::sum;
  std::uint64_t count = 0;  // elements of a block; in the v forms at most; messages of a burst
  int root = 0;             // modulo the ranks of the communicator
  bool in_place = false;
  Calling calling = Calling::run;
  std::string algorithm;  // empty: the library chooses

  Order order = Order::forward;
  bool some = false;  // about half of what there is

  int rank = 0;  // that ends
  Ending ending = Ending::kill;
  std::uint64_t at = 0;

  friend bool operator==(const Step&, const Step&) = default;
};

struct Plan {
  std::uint64_t seed = 0;
  int ranks = 1;
  std::vector<Step> steps;
  friend bool operator==(const Plan&, const Plan&) = default;
};

std::string text_of(const Step& step);
std::string text_of(const Plan& plan);
// Returns nothing if a line cannot be read; `wrong` then says which.
std::optional<Plan> parse(std::string_view text, std::string& wrong);

bool makes_communicator(Kind kind);
bool reduces(Operation operation);
bool has_root(Operation operation);
bool commutes(Reduction reduction);

}  // namespace strangers
