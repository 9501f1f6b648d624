// Collective operations among the processes of a job, or some of them (docs/design/collectives.md).
//
//   scela::Communicator world = scela::Communicator::world(channel);
//   std::vector<double> mine(1000), all(1000);
//   const auto sum = scela::Collective::allreduce(mine, all, scela::ReduceOp::sum);
//   if (const auto status = world.run(sum); !status.ok()) report(status.message());
//   scela::Request request = world.start(sum);  // goes on while this rank computes
//   ...
//   if (const auto status = request.wait(); !status.ok()) report(status.message());
//
// A Collective says what is to be done. A communicator does it at once (run), begins it (start), or
// makes it ready to be started any number of times (prepare). All ranks of a communicator call the
// same operations in the same order. Any number of them may be under way. Two threads must not use
// communicators that were made from one another, or their requests, at once. Messages of a
// communicator (scela/messages.h) have the channel's rule for threads instead. `report` and `use`
// in examples stand for functions of the program.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <scela/messages.h>
#include <scela/request.h>
#include <scela/status.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela {

class Channel;
class Communicator;
class PointToPoint;
namespace collectives {
class PendingCollective;
}

// The type of an element, in the machine's byte order. float16 is IEEE 754 binary16. A type called
// ..._index is struct {value; std::int32_t index;}, as C lays it out: minloc and maxloc reduce it.
enum class ElementType : unsigned char {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  long_double,
  int16_index,
  int32_index,
  int64_index,
  float32_index,
  float64_index,
  long_double_index,
  // Bytes of any type, which are moved. Only the program's own functions reduce them (Reducer::of).
  opaque,
};

// Operations on elements. The bitwise ones take integers. minloc and maxloc take the types called
// ..._index, and give the least index of the least (greatest) values. All others take all types but
// these and opaque. Sums and products of integers wrap, and logical results are 0 and 1. A minimum
// is the left operand unless the right one is less, so a NaN on the left stays.
enum class ReduceOp : unsigned char {
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
};

// Returns the type of an element of C++; `opaque` if it is none of the arithmetic types above, as
// for bool and enumerations.
//
//   static_assert(scela::element_type_of<double>() == scela::ElementType::float64);
template <class T>
constexpr ElementType element_type_of() {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8) {
    constexpr int kBySize = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : sizeof(T) == 4 ? 4 : 6;
    return static_cast<ElementType>(kBySize + (std::is_unsigned_v<T> ? 1 : 0));
  } else if constexpr (std::is_same_v<T, float>) {
    return ElementType::float32;
  } else if constexpr (std::is_same_v<T, double>) {
    return ElementType::float64;
  } else if constexpr (std::is_same_v<T, long double>) {
    return ElementType::long_double;
  } else {
    return ElementType::opaque;
  }
}

// A contiguous range of elements that may be copied as bytes: an array, a std::vector, a std::span.
template <class Range>
concept Elements = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<Range>>;

// Consecutive elements in the program's memory, to which it refers. While an operation that uses
// them is under way, the program keeps them, and does not change them. A range of Elements converts
// to it; other elements are given by their address.
//
//   scela::Buffer half(numbers.data(), 500, sizeof(double), scela::ElementType::float64);
class Buffer {
 public:
  Buffer() = default;  // for ranks that get no elements
  template <Elements Range>
  requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>)
      Buffer(Range&& range)
      : Buffer(std::ranges::data(range), std::ranges::size(range),
               sizeof(std::ranges::range_value_t<Range>),
               element_type_of<std::ranges::range_value_t<Range>>()) {}
  // `element_bytes` is the size of one element: that of the type, or any but 0 for `opaque`. `data`
  // may have any alignment, and be null if `count` is 0.
  Buffer(void* data, std::size_t count, std::size_t element_bytes, ElementType type)
      : data_(static_cast<std::byte*>(data)),
        count_(count),
        element_bytes_(element_bytes),
        type_(type) {}

  std::byte* data() const { return data_; }
  std::size_t count() const { return count_; }
  std::size_t element_bytes() const { return element_bytes_; }
  std::size_t bytes() const { return count_ * element_bytes_; }
  ElementType type() const { return type_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t count_ = 0;
  std::size_t element_bytes_ = 1;
  ElementType type_ = ElementType::opaque;
};

// A call gives this instead of an input if the input is in the output, where the result replaces
// it. In gather and allgather the input is this rank's block of the output, otherwise all of the
// output. In reduce_scatter_block the output then has size() blocks, and the first becomes the
// result. All ranks must give it, but in reduce and gather the root alone. reduce_scatter cannot be
// in place. The root of a scatter gives no output instead (Buffer()): its own block stays in its
// input. A wrong use is bad_argument.
//
//   status = world.run(scela::Collective::allreduce(scela::kInPlace, all, scela::ReduceOp::sum));
struct InPlace {};
inline constexpr InPlace kInPlace{};

// Consecutive elements that an operation only reads, as for Buffer, or kInPlace. A Buffer converts
// to it.
//
//   const scela::ConstBuffer input(mine);
//   if (!input.is_in_place()) use(input.count(), input.element_bytes(), input.type());
class ConstBuffer {
 public:
  ConstBuffer() = default;
  ConstBuffer(InPlace) : in_place_(true) {}
  ConstBuffer(Buffer view)
      : ConstBuffer(view.data(), view.count(), view.element_bytes(), view.type()) {}
  template <Elements Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, Buffer>) ConstBuffer(Range&& range)
      : ConstBuffer(std::ranges::data(range), std::ranges::size(range),
                    sizeof(std::ranges::range_value_t<Range>),
                    element_type_of<std::ranges::range_value_t<Range>>()) {}
  ConstBuffer(const void* data, std::size_t count, std::size_t element_bytes, ElementType type)
      : data_(static_cast<const std::byte*>(data)),
        count_(count),
        element_bytes_(element_bytes),
        type_(type) {}

  const std::byte* data() const { return data_; }
  std::size_t count() const { return count_; }
  std::size_t element_bytes() const { return element_bytes_; }
  std::size_t bytes() const { return count_ * element_bytes_; }
  ElementType type() const { return type_; }
  bool is_in_place() const { return in_place_; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t count_ = 0;
  std::size_t element_bytes_ = 1;
  ElementType type_ = ElementType::opaque;
  bool in_place_ = false;
};

// The operation that makes one element of two: a ReduceOp, or a function of the program.
//
//   const scela::Reducer::Function larger = [](const std::byte* left, const std::byte* right,
//                                              std::byte* result, std::size_t elements) {
//     for (std::size_t i = 0; i < elements; ++i) result[i] = std::max(left[i], right[i]);
//   };
//   const std::vector<std::byte> own(8);
//   std::vector<std::byte> largest(8);
//   const auto reducer = scela::Reducer::of(larger, true);
//   status = world.run(scela::Collective::allreduce(own, largest, reducer));
//   if (reducer.function() == nullptr) use(reducer.op(), reducer.commutes());
class Reducer {
 public:
  // Computes result[i] = left[i] op right[i] for each element; `result` is `left` or `right`.
  // Elements have the size that the buffers say. The function must be associative, must not throw,
  // and makes no calls of libscela. The thread that moves the operation calls it (ProgressMode).
  using Function = std::function<void(const std::byte* left, const std::byte* right,
                                      std::byte* result, std::size_t elements)>;
  Reducer(ReduceOp op) : op_(op) {}
  // `commutes` says that left op right is right op left. Otherwise operands keep the order of the
  // ranks. All ranks give the same.
  static Reducer of(Function function, bool commutes) {
    Reducer own(ReduceOp::sum);
    own.function_ = std::make_shared<const Function>(std::move(function));
    own.commutes_ = commutes;
    return own;
  }
  ReduceOp op() const { return op_; }  // no meaning with a function
  bool commutes() const { return commutes_; }
  // Returns the program's function, or null for a ReduceOp.
  const std::shared_ptr<const Function>& function() const { return function_; }

 private:
  ReduceOp op_;
  bool commutes_ = true;
  std::shared_ptr<const Function> function_;
};

// One rank's part of a buffer, in elements; `offset` counts from the buffer's begin.
struct Part {
  std::size_t count = 0;
  std::size_t offset = 0;
};

// An operation with this rank's buffers; it has MPI's meaning. These functions only describe it:
// they neither check nor block, any thread may call them, and the communicator reports what is
// wrong. A Collective is a value. It may be run any number of times, and dropped while it runs.
//
// The count of a buffer is that of all its blocks, and all blocks are equal, on all ranks. In
// gather and allgather the output has size() blocks of the input's size. In scatter and
// reduce_scatter_block the input has size() blocks of the output's size. In alltoall both have
// size() blocks. In reduce, allreduce, scan and exscan both have one. Input and output must not
// overlap. In reductions both have the same type of elements; otherwise only their bytes count.
//
// `root` is a rank of the communicator. In reduce and gather only the root has an output, in
// scatter only the root has an input. Other ranks may give Buffer() there, which is ignored.
class Collective {
 public:
  // No rank leaves it before all have entered it.
  static Collective barrier();
  // The root sends `message`; on the other ranks it is replaced.
  //
  //   status = world.run(scela::Collective::bcast(all, 0));
  static Collective bcast(Buffer message, int root);
  // The result is x0 op x1 op ... for the inputs of all ranks, element by element.
  //
  //   status = world.run(scela::Collective::reduce(mine, all, scela::ReduceOp::maximum, 0));
  static Collective reduce(ConstBuffer input, Buffer output, Reducer reducer, int root);
  static Collective allreduce(ConstBuffer input, Buffer output, Reducer reducer);
  // These move blocks, in the order of ranks. A root of a scatter that gives no output keeps its
  // own block in its input.
  //
  //   std::vector<double> blocks(mine.size() * static_cast<std::size_t>(world.size()));
  //   status = world.run(scela::Collective::gather(mine, blocks, 0));
  //   status = world.run(scela::Collective::scatter(blocks, mine, 0));
  //   status = world.run(scela::Collective::allgather(mine, blocks));
  //   std::vector<double> theirs(blocks.size());
  //   status = world.run(scela::Collective::alltoall(blocks, theirs));
  static Collective gather(ConstBuffer input, Buffer output, int root);
  static Collective scatter(ConstBuffer input, Buffer output, int root);
  static Collective allgather(ConstBuffer input, Buffer output);
  static Collective alltoall(ConstBuffer input, Buffer output);
  // Each rank gets its block of what reduce() would give.
  //
  //   status = world.run(scela::Collective::reduce_scatter_block(blocks, mine,
  //                                                              scela::ReduceOp::sum));
  static Collective reduce_scatter_block(ConstBuffer input, Buffer output, Reducer reducer);
  // Each rank gets what reduce() would give for the ranks up to itself, in exscan for those before
  // it. Rank 0's output of an exscan has no defined contents.
  //
  //   status = world.run(scela::Collective::scan(mine, all, scela::ReduceOp::sum));
  //   status = world.run(scela::Collective::exscan(mine, all, scela::ReduceOp::sum));
  static Collective scan(ConstBuffer input, Buffer output, Reducer reducer);
  static Collective exscan(ConstBuffer input, Buffer output, Reducer reducer);
  // These take one part for each rank, by rank, of the buffer before them. For gatherv and scatterv
  // only the root needs them. A buffer without parts is as long as this rank's part. Parts of an
  // output must not overlap. An alltoallv in place uses `output_parts` alone. The example shows two
  // of them, and all take parts so.
  //
  //   const std::vector<scela::Part> parts{{3, 0}, {1, 3}};  // of two ranks
  //   std::vector<int> own(parts[static_cast<std::size_t>(world.rank())].count), four(4);
  //   status = world.run(scela::Collective::allgatherv(own, four, parts));
  //   status = world.run(scela::Collective::scatterv(four, parts, own, 0));
  static Collective gatherv(ConstBuffer input, Buffer output, std::vector<Part> parts, int root);
  static Collective scatterv(ConstBuffer input, std::vector<Part> parts, Buffer output, int root);
  static Collective allgatherv(ConstBuffer input, Buffer output, std::vector<Part> parts);
  static Collective alltoallv(ConstBuffer input, std::vector<Part> input_parts, Buffer output,
                              std::vector<Part> output_parts);
  // The parts of the input follow each other, so their offsets do not matter.
  //
  //   const auto sums = scela::Collective::reduce_scatter(four, own, parts, scela::ReduceOp::sum);
  static Collective reduce_scatter(ConstBuffer input, Buffer output, std::vector<Part> parts,
                                   Reducer reducer);

  // Names an algorithm instead of the table's choice, as a row of the table does: "ring", "chain
  // segment 16K" (docs/design/algorithms.md). All ranks must name the same. A name that the
  // operation does not have is bad_argument when it is run.
  //
  //   status = world.run(scela::Collective::bcast(all, 0).algorithm("chain segment 16K"));
  Collective& algorithm(std::string name);

  struct Inside;

 private:
  friend class Communicator;
  // Null if there was no memory for the operation.
  std::shared_ptr<const Inside> inside() const { return inside_; }
  explicit Collective(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
  std::shared_ptr<Inside> inside_;
};

// Says what moves the messages of operations under way. With at_once it is the caller, in start(),
// which blocks until the operation is complete. With polled it is the caller, in each of its calls
// of the communicator, of those made from it, and of their requests. With thread it is a thread
// beside the caller; the channel needs Threads::multiple then. With engine it is the engine of an
// adapter, which needs no process until the operations are over. If the mode is not possible, the
// communicator cannot be made (bad_argument).
enum class ProgressMode : unsigned char { at_once, polled, thread, engine };

// The options of a communicator and of those that are made from it.
//
//   scela::CommunicatorOptions options;
//   options.progress = scela::ProgressMode::thread;
//   options.table = "bcast bytes 64K.. chain segment 16K\nallreduce bytes ..2K recursive-doubling";
//   scela::Communicator world = scela::Communicator::world(channel, options);
struct CommunicatorOptions {
  ProgressMode progress = ProgressMode::polled;
  // ProgressMode::thread: binds the thread to the nearest core where no rank of the node may run.
  // If there is no such core, it is bound to its rank's processors. If this is false, the thread
  // runs where the thread that calls world() may run.
  bool bind_thread = true;
  // Rows, one a line, that come before those that are built in (docs/design/collectives.md,
  // Choice). They choose the algorithm by operation, ranks, nodes and bytes. All ranks must give
  // the same. The environment's rows come before these: SCELA_COLL_<OPERATION>, then the file that
  // SCELA_COLL_TABLE names.
  std::string table;
  // Makes the ranks compare their calls before each operation. If a call differs, the error names
  // the rank and the difference, and nothing else is sent. It costs a message of 96 bytes from each
  // rank to all, for each operation. SCELA_COLL_CHECK=0 or 1 overrules it. All ranks must give the
  // same value.
  bool check = false;
};

// ProgressMode::engine: operations of one communicator that this rank gave to the adapter. In other
// modes all counters are 0. If an operation was not posted whole when it was started, it may need
// steps of this process before it is over. Such steps serve this rank or others; calls that start,
// test, wait and progress make them.
struct EngineCounters {
  std::uint64_t operations = 0;  // all of them
  // Operations that were not posted whole. connecting: peers had still to be connected, as before
  // the first operation with them. in_parts: the adapter's queues hold no more.
  std::uint64_t connecting = 0, in_parts = 0;
};

// The result on which the ranks that live have agreed.
struct [[nodiscard]] AgreeResult {
  // If it is ok, the rest is the same on all ranks that have a result. Errors are resources,
  // closed, bad_communicator and two more. It is mismatch if another rank has called shrink(), or
  // has freed the communicator. It is peer_ended with this rank if the others could not reach this
  // rank and go on without it.
  Status status;
  bool flag = false;        // true if each rank that lives has given true
  std::vector<int> exited;  // ended ranks of the communicator
};

// A group of ranks that run operations together, and send messages to each other (Messages). Ranks
// count from 0 to size() - 1. An empty communicator has no ranks: each operation of it is
// bad_communicator. Functions that only return properties do not block.
//
// A destroyed or assigned communicator is not freed (see free()). Its operations under way go on.
class [[nodiscard]] Communicator : public Messages {
 public:
  Communicator();  // an empty one, as after free()
  // Makes a communicator of all ranks of a channel. All of them call it, any number of times; it
  // may block until they do. The channel must outlive the communicator and its requests. If it
  // cannot be made, the communicator is empty and status() says why: bad_argument (an option, a
  // variable, a row of the table), resources or mismatch.
  static Communicator world(Channel& channel, const CommunicatorOptions& options = {});
  // Makes a communicator of all ranks of another library (scela/point_to_point.h), in the same way.
  // `messages` must outlive it and its requests. It serves one call of over() at a time: others are
  // made from that communicator, by dup() and the like. ProgressMode::engine is not possible. Other
  // ranks are not told if a call of this rank is refused, or if it frees a communicator that they
  // go on with: they wait for its messages.
  static Communicator over(PointToPoint& messages, const CommunicatorOptions& options = {});
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  // Returns ok, or why the communicator is empty. It is bad_communicator if this rank is not one of
  // it, and after free() or a move; other codes are errors.
  //
  //   if (!world) report(world.status().message());
  const Status& status() const;
  explicit operator bool() const { return state_ != nullptr; }  // false: it is empty
  int rank() const;   // 0 to size() - 1; -1: the communicator is empty
  int size() const;   // 0: the communicator is empty
  int nodes() const;  // number of nodes that its ranks are on
  // Returns the rank of the channel that a rank of this communicator is, or -1 if there is no such
  // rank.
  //
  //   std::printf("rank %d of %d, on %d nodes; rank 0 is rank %d of the channel\n", half.rank(),
  //               half.size(), half.nodes(), half.world_rank(0));
  int world_rank(int rank) const;
  // Returns text for people: the executor of the operations, where it runs, and how many operations
  // were not posted whole.
  //
  //   std::puts(world.describe().c_str());
  //   if (world.engine_counters().in_parts != 0) std::puts("some operations need this process");
  std::string describe() const;
  EngineCounters engine_counters() const;

  // Blocks until this rank's part of the operation is over; its buffers may be used again. Errors:
  // bad_root, bad_count, bad_type, bad_buffer, bad_reducer, bad_argument (an algorithm, kInPlace)
  // and bad_communicator, of this rank's call; mismatch, peer_ended and resources, with the rank
  // that has caused it. If a call is wrong so that no rank can know what this rank would have sent
  // (root, count, type, algorithm), all operations of the communicator fail, also those under way;
  // shrink() makes another communicator.
  Status run(const Collective& collective);
  // Begins the operation, and returns at once unless the mode is ProgressMode::at_once. If the call
  // is wrong, the request's wait() returns the error. Requests may be waited for in any order.
  Request start(const Collective& collective);
  // Makes a persistent request, which Request::start() starts any number of times. It sends
  // nothing; all ranks prepare and start the same, in the same order. If the call is wrong, start()
  // or wait() returns the error. A communicator prepares 2^30 operations in all (over(): half as
  // many as it has tags); then start() or wait() returns resources.
  //
  //   scela::Request sums = world.prepare(sum);
  //   while (change(mine) && sums.start().ok() && sums.wait().ok()) use(all);
  Request prepare(const Collective& collective);
  // Runs Collective::barrier().
  //
  //   if (const auto status = world.barrier(); !status.ok()) report(status.message());
  Status barrier() { return run(Collective::barrier()); }

  // All ranks call these, which block until all have. The new communicator has the options of this
  // one, and may outlive it. If it cannot be made, it is empty and status() says why. The errors
  // are those of run() and bad_argument (a color, the ranks of a subgroup). It is mismatch if other
  // ranks have called another of these. It is resources if a rank has 2^20 communicators already,
  // or as many as a PointToPoint has contexts.
  //
  //   scela::Communicator half = world.split(world.rank() % 2, world.rank());
  //   scela::Communicator copy = world.dup(), node = world.node(), leaders = world.leaders();
  //   scela::Communicator first_two = world.subgroup(std::vector<int>{0, 1});
  //   if (leaders) use(leaders.rank());  // it is empty on the other ranks
  //
  // Ranks with one color, from 0 on, get one communicator. They are in the order of `key`, which is
  // any number, then of their ranks. A rank with kUndefinedColor gets an empty one.
  static constexpr int kUndefinedColor = -1;
  Communicator split(int color, int key);
  Communicator dup();
  // Makes a communicator of these ranks, in this order; other ranks get an empty one. All ranks
  // must name the same, each rank once.
  Communicator subgroup(std::span<const int> ranks);
  Communicator node();  // of the ranks on this rank's node
  // Makes a communicator of each node's first rank; other ranks get an empty one.
  Communicator leaders();

  // Once a rank has ended, every operation fails with its name, but agree() and shrink() do not.
  // All ranks that live call them, in the same order among themselves, and block until all have. A
  // rank that dies meanwhile is not waited for. Any two ranks learn the same.
  //
  //   const scela::AgreeResult agreed = world.agree(true);
  //   if (agreed.status.ok() && !agreed.exited.empty()) world = world.shrink();
  AgreeResult agree(bool flag);
  // Makes a communicator of the ranks that live, in their order. A rank that dies late may still be
  // among them. Then operations of the new communicator fail, and the program shrinks it again. If
  // it cannot be made, it is empty and status() says why, as for agree().
  Communicator shrink();

  // Frees the communicator, which is empty afterwards. Operations under way go on, but nothing more
  // is started, prepared operations included. The call does not block. All ranks free it, after the
  // same operations. If a rank starts an operation that another rank has not started before its
  // free(), the operation fails with that rank's name. The destructor tells no other rank: the
  // others would wait for this one.
  //
  //   half.free();
  void free();

  struct State;

 private:
  friend struct CommunicatorMaker;
  explicit Communicator(std::shared_ptr<State> state);
  explicit Communicator(Status why);  // an empty one
  // Makes an operation for start(), or for prepare() if `persistent`. Returns null, and sets
  // `refused`, if it cannot be made.
  collectives::PendingCollective* make(const Collective& collective, bool persistent,
                                       Request& refused);
  // Does the work of split(). All ranks must give the same word `alike`. If this rank's call is
  // wrong, `wrong` says why; otherwise it is empty.
  Communicator split(int color, int key, std::uint64_t alike, const std::string& wrong);
  // Sets `number` to the lowest number from it on with a context that is free on all ranks. All
  // ranks call it with the same number. It sets kNoNumber
  // (collectives/communicator/communicator.cpp) if no context is free.
  Status agree_on_number(std::uint64_t& number);
  std::shared_ptr<State> state_;
  Status status_;
};

}  // namespace scela
#pragma GCC visibility pop
