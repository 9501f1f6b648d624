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
// same operations in the same order. Two threads must not use a communicator, or its requests, at
// once. Its messages (scela/messages.h) have the channel's rule for threads instead.
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

// The type of an element. A type called ..._index is struct {value; std::int32_t index;}, as C lays
// it out: minloc and maxloc reduce it.
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
  // Bytes of any type, which are moved. Only the program's own operations reduce them.
  opaque,
};

// Operations on elements. The bitwise ones take integers. minloc and maxloc take the
// types called ..._index, and give the least index of the least (greatest) values.
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

// Returns the type of an element of C++; `opaque` if it is none of the arithmetic types above.
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

template <class Range>
concept Elements = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<Range>>;

// Consecutive elements in the program's memory. The program keeps them while an operation that uses
// them is under way.
class Buffer {
 public:
  Buffer() = default;  // for ranks that get no elements
  template <Elements Range>
  requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>)
      Buffer(Range&& range)
      : Buffer(std::ranges::data(range), std::ranges::size(range),
               sizeof(std::ranges::range_value_t<Range>),
               element_type_of<std::ranges::range_value_t<Range>>()) {}
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

// Given instead of an input if the input is in the output, where the result replaces it. Of gather
// and allgather it is at the place of this rank's block, of alltoall it is the whole output. All
// ranks must give it, but of reduce and gather only the root. The root of a scatter gives no output
// instead: its own block stays in its input.
struct InPlace {};
inline constexpr InPlace kInPlace{};

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

// The operation that makes one element of two.
class Reducer {
 public:
  // Computes result[i] = left[i] op right[i] for each element; `result` is `left` or `right`. The
  // function must be associative, and must not throw.
  using Function = std::function<void(const std::byte* left, const std::byte* right,
                                      std::byte* result, std::size_t elements)>;
  Reducer(ReduceOp op) : op_(op) {}
  // `commutes` says that left op right is right op left. The ranks' order matters otherwise.
  static Reducer of(Function function, bool commutes) {
    Reducer own(ReduceOp::sum);
    own.function_ = std::make_shared<const Function>(std::move(function));
    own.commutes_ = commutes;
    return own;
  }
  ReduceOp op() const { return op_; }
  bool commutes() const { return commutes_; }
  const std::shared_ptr<const Function>& function() const { return function_; }

 private:
  ReduceOp op_;
  bool commutes_ = true;
  std::shared_ptr<const Function> function_;
};

// One rank's part of a buffer, in elements.
struct Part {
  std::size_t count = 0;
  std::size_t offset = 0;
};

// An operation with this rank's buffers. The counts of a buffer are those of all its blocks: of
// gather and allgather the output has size() blocks of the input's size, of scatter the input has
// size() blocks of the output's size, of alltoall both have size() blocks, and of
// reduce_scatter_block the input has size() blocks of the output's size. All blocks are equal.
class Collective {
 public:
  static Collective barrier();
  static Collective bcast(Buffer message, int root);
  static Collective reduce(ConstBuffer input, Buffer output, Reducer reducer, int root);
  static Collective allreduce(ConstBuffer input, Buffer output, Reducer reducer);
  static Collective gather(ConstBuffer input, Buffer output, int root);
  // A root that gives no output keeps its own block in its input.
  static Collective scatter(ConstBuffer input, Buffer output, int root);
  static Collective allgather(ConstBuffer input, Buffer output);
  static Collective alltoall(ConstBuffer input, Buffer output);
  static Collective reduce_scatter_block(ConstBuffer input, Buffer output, Reducer reducer);
  static Collective scan(ConstBuffer input, Buffer output, Reducer reducer);
  static Collective exscan(ConstBuffer input, Buffer output, Reducer reducer);
  // These take the parts of all ranks, by rank. For gatherv and scatterv only the root needs them.
  static Collective gatherv(ConstBuffer input, Buffer output, std::vector<Part> parts, int root);
  static Collective scatterv(ConstBuffer input, std::vector<Part> parts, Buffer output, int root);
  static Collective allgatherv(ConstBuffer input, Buffer output, std::vector<Part> parts);
  static Collective alltoallv(ConstBuffer input, std::vector<Part> input_parts, Buffer output,
                              std::vector<Part> output_parts);
  // The parts of the input follow each other, so their offsets do not matter.
  static Collective reduce_scatter(ConstBuffer input, Buffer output, std::vector<Part> parts,
                                   Reducer reducer);

  // Names an algorithm instead of the table's choice, as a row of the table does: "ring", "chain
  // segment 16K". All ranks must name the same.
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
// which blocks until the operation is complete.
// With polled it is the caller, in each of its calls of the
// communicator, of those made from it, and of their requests. With thread it is a thread beside the
// caller; the channel needs Threads::multiple then. With engine it is the engine of an adapter,
// which needs no process until the operations are over.
enum class ProgressMode : unsigned char { at_once, polled, thread, engine };

struct CommunicatorOptions {
  ProgressMode progress = ProgressMode::polled;
  // ProgressMode::thread: binds the thread to the nearest core where no rank of the node may run.
  // If there is no such core, it is bound to its rank's processors.
  bool bind_thread = true;
  // Rows that come before those that are built in (docs/design/collectives.md, Choice). The
  // environment's rows come before these: SCELA_COLL_<OPERATION>, then the file that
  // SCELA_COLL_TABLE names.
  std::string table;
  // Makes the ranks compare their calls before each operation. If a call differs, the error names
  // the rank and the difference, and nothing else is sent. SCELA_COLL_CHECK=0 or 1 overrules it.
  // All ranks must give the same value.
  bool check = false;
};

// ProgressMode::engine: operations of one communicator that this rank gave to the adapter. If an
// operation was not posted whole when it was started, it may need steps of this process before it
// is over. Such steps serve this rank or others; calls that start, test, wait and progress make
// them.
struct EngineCounters {
  std::uint64_t operations = 0;
  // Operations that were not posted whole. connecting: peers had still to be connected, as before
  // the first operation with them. in_parts: the adapter's queues hold no more.
  std::uint64_t connecting = 0, in_parts = 0;
};

// The result on which the ranks that live have agreed.
struct [[nodiscard]] AgreeResult {
  // If it is ok, the rest is the same on all ranks that have a result.
  Status status;
  bool flag = false;        // true if each rank that lives has given true
  std::vector<int> exited;  // ranks of the communicator that have ended
};

class [[nodiscard]] Communicator : public Messages {
 public:
  Communicator();  // an empty one, as after free()
  // Makes a communicator of all ranks of a channel. All of them call it; it may block until they
  // do. The channel must outlive the communicator and its requests. If it cannot be made, the
  // communicator is empty and status() says why: bad_argument (an option, a variable, a row of the
  // table), resources or mismatch.
  static Communicator world(Channel& channel, const CommunicatorOptions& options = {});
  // Makes a communicator of all ranks of another library (scela/point_to_point.h), in the same way.
  // `messages` must outlive it and its requests. ProgressMode::engine is not possible. Other ranks
  // are not told if a call of this rank is refused, or if it frees a communicator that they go on
  // with: they wait for its messages.
  static Communicator over(PointToPoint& messages, const CommunicatorOptions& options = {});
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  // Returns ok, or why the communicator is empty.
  const Status& status() const;
  explicit operator bool() const { return state_ != nullptr; }  // false: it is empty
  int rank() const;   // 0 to size() - 1; -1: the communicator is empty
  int size() const;   // 0: the communicator is empty
  int nodes() const;  // on which its ranks are
  // Returns the rank of the channel that a rank of this communicator is, or -1 if there is no such
  // rank.
  int world_rank(int rank) const;
  // Returns text for people: the executor of the operations, where it runs, and how many operations
  // were not posted whole.
  std::string describe() const;
  EngineCounters engine_counters() const;

  // Blocks until the operation is over. Errors: bad_root, bad_count, bad_type, bad_buffer,
  // bad_reducer, bad_argument (an algorithm, kInPlace) and bad_communicator, of this rank's call;
  // mismatch, peer_ended and resources, with the rank that has caused it. If a call is wrong so
  // that no rank can know what this rank would have sent (root, count, type, algorithm), all
  // operations of the communicator fail, also those under way; shrink() makes another communicator.
  Status run(const Collective& collective);
  // Begins the operation, and returns at once unless the mode is ProgressMode::at_once. If the call
  // is wrong, the request's wait() returns the error.
  Request start(const Collective& collective);
  // Makes a persistent request, which Request::start() starts any number of times. It sends
  // nothing; all ranks prepare and start the same. If the call is wrong, start() or wait() returns
  // the error.
  Request prepare(const Collective& collective);
  Status barrier() { return run(Collective::barrier()); }

  // All ranks call these, which block until all have. The new communicator has the options of this
  // one. Ranks with one color get one communicator, in the order of key, then
  // rank. A rank with kUndefinedColor gets an empty one.
  static constexpr int kUndefinedColor = -1;
  Communicator split(int color, int key);
  Communicator dup();
  // Makes a communicator of these ranks, in this order; other ranks get an empty one. All ranks
  // must name the same.
  Communicator subgroup(std::span<const int> ranks);
  Communicator node();     // of this rank's node
  Communicator leaders();  // of each node's first rank

  // Once a rank has ended, every operation fails with its name, but agree() and shrink() do not.
  // All ranks that live call them, in the same order among themselves. A rank that dies meanwhile
  // is not waited for. Any two ranks learn the same.
  AgreeResult agree(bool flag);
  // Makes a communicator of the ranks that live, in their order. A rank that dies late may still be
  // among them. Then operations of the new communicator fail, and the program shrinks it again.
  Communicator shrink();

  // Operations under way go on, but this communicator starts nothing more, prepared operations
  // included. The call does not block. All ranks free it, after the same operations. If a rank
  // starts an operation that another rank has not started before its free(), the operation fails
  // with that rank's name. The destructor tells no other rank: the others would wait for this one.
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
