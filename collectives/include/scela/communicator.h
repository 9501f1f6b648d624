// Collective operations among the processes of a job, or some of them (docs/design/collectives.md).
//
//   scela::Communicator world = scela::Communicator::over(channel);
//   std::vector<double> mine(1000), all(1000);
//   const auto sum = scela::Collective::allreduce(mine, all, scela::ReduceOp::sum);
//   if (const auto error = world.run(sum)) report(error.text());
//   scela::CollectiveRequest request = world.start(sum);  // goes on while this rank computes
//   ...
//   if (const auto error = request.wait()) report(error.text());
//
// A Collective says what is to be done. A communicator does it at once (run), begins it (start), or
// makes it ready to be started any number of times (prepare). All ranks of a communicator call the
// same operations in the same order. Two threads must not use a communicator, or its requests, at
// once.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela::channel {
class Channel;
}

namespace scela {

// The types called ..._place are {value; std::int32_t place;}, as C lays them out.
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
  int16_place,
  int32_place,
  int64_place,
  float32_place,
  float64_place,
  long_double_place,
  // Bytes, which are moved. Only the program's own operations reduce them.
  opaque,
};

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
  minimum_place,
  maximum_place,
};

template <class T>
constexpr ElementType element_type_of() {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
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
class View {
 public:
  View() = default;  // for ranks that get no elements
  template <Elements Range>
  requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>)
      View(Range&& range)
      : View(std::ranges::data(range), std::ranges::size(range),
             sizeof(std::ranges::range_value_t<Range>),
             element_type_of<std::ranges::range_value_t<Range>>()) {}
  View(void* data, std::size_t count, std::size_t element_bytes, ElementType type)
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

// Given instead of an input if the input stands in the output (docs/design/collectives.md says at
// which place). All ranks must give it. In reduce, gather and scatter only the root's choice
// counts.
struct InPlace {};
inline constexpr InPlace kInPlace{};

class ConstView {
 public:
  ConstView() = default;
  ConstView(InPlace) : in_place_(true) {}
  ConstView(View view) : ConstView(view.data(), view.count(), view.element_bytes(), view.type()) {}
  template <Elements Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, View>) ConstView(Range&& range)
      : ConstView(std::ranges::data(range), std::ranges::size(range),
                  sizeof(std::ranges::range_value_t<Range>),
                  element_type_of<std::ranges::range_value_t<Range>>()) {}
  ConstView(const void* data, std::size_t count, std::size_t element_bytes, ElementType type)
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

enum class CollectiveCode : unsigned char {
  none,
  // The arguments are not valid: this rank sent and received nothing.
  argument,
  // A request or communicator was misused: waited for twice, started twice, or freed.
  misuse,
  // The ranks have called different operations or sizes, or one has freed a communicator that
  // others go on with.
  mismatch,
  peer_ended,  // a rank has ended, or its node is lost
  resources,   // memory or descriptors are exhausted
  // A wait reached its limit; the operation goes on.
  timed_out,
  cancelled,
  other,
};
const char* name_of(CollectiveCode code);

struct CollectiveError {
  CollectiveCode code = CollectiveCode::none;
  // The rank of the communicator that caused the error; -1: no rank did.
  int rank = -1;
  std::shared_ptr<const std::string> words;  // what was tried, what happened, advice

  explicit operator bool() const { return code != CollectiveCode::none; }
  std::string text() const;
};

// An operation with this rank's buffers.
class Collective {
 public:
  static Collective barrier();
  static Collective bcast(View message, int root);
  static Collective reduce(ConstView input, View output, Reducer reducer, int root);
  static Collective allreduce(ConstView input, View output, Reducer reducer);
  static Collective gather(ConstView input, View output, int root);
  // A root that gives no output keeps its own block in its input.
  static Collective scatter(ConstView input, View output, int root);
  static Collective allgather(ConstView input, View output);
  static Collective alltoall(ConstView input, View output);
  static Collective reduce_scatter_block(ConstView input, View output, Reducer reducer);
  static Collective scan(ConstView input, View output, Reducer reducer);
  static Collective exscan(ConstView input, View output, Reducer reducer);
  // These take the parts of all ranks, by rank. For gatherv and scatterv only the root needs them.
  static Collective gatherv(ConstView input, View output, std::vector<Part> parts, int root);
  static Collective scatterv(ConstView input, std::vector<Part> parts, View output, int root);
  static Collective allgatherv(ConstView input, View output, std::vector<Part> parts);
  static Collective alltoallv(ConstView input, std::vector<Part> input_parts, View output,
                              std::vector<Part> output_parts);
  // The parts of the input follow each other, so their offsets do not matter.
  static Collective reduce_scatter(ConstView input, View output, std::vector<Part> parts,
                                   Reducer reducer);

  // Names an algorithm instead of the table's choice, as a row of the table does: "ring", "chain
  // segment 16K". All ranks must name the same.
  Collective& by(std::string algorithm);

  struct Inside;
  // For communicators. Returns null if there was no memory for the operation.
  std::shared_ptr<const Inside> inside() const { return inside_; }

 private:
  explicit Collective(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
  std::shared_ptr<Inside> inside_;
};

// An operation that was started, or was made ready to be started (prepare). It owns its state. If
// it is destroyed while it is under way, it is cancelled; other ranks may then wait for this rank.
class CollectiveRequest {
 public:
  using Limit = std::optional<std::chrono::nanoseconds>;

  CollectiveRequest();  // an empty request
  CollectiveRequest(CollectiveRequest&&) noexcept;
  CollectiveRequest& operator=(CollectiveRequest&&) noexcept;
  ~CollectiveRequest();

  // Moves what can be moved without waiting. Returns true if the operation is over, or if none is
  // under way.
  bool test();
  // Blocks until the operation is over, or the limit is. Returns timed_out if the limit is over;
  // the operation goes on. An operation is waited for once.
  CollectiveError wait(Limit limit = {});
  // Starts a prepared operation that is not under way.
  CollectiveError start();
  bool persistent() const;
  // Returns text for people: "allreduce by ring".
  std::string describe() const;

  struct State;

 private:
  friend class Communicator;
  friend struct Waits;
  explicit CollectiveRequest(std::unique_ptr<State> state);
  explicit CollectiveRequest(CollectiveError refused);
  // Returns the error for calls on a request without a state.
  CollectiveError refused_or_nothing() const;
  std::unique_ptr<State> state_;
  CollectiveError refused_;  // set if there is no state
};

// Blocks until a request is over, and returns its index. Returns requests.size() if none is over
// before the limit, or if none is under way.
std::size_t wait_any(std::span<CollectiveRequest> requests, CollectiveRequest::Limit limit = {});

// Says what moves the messages of operations under way. With at_once it is the caller, in start().
// With polled it is the caller, in each of its calls. With thread it is a thread beside the caller;
// the channel needs Threads::multiple then. With engine it is the engine of an adapter, which needs
// no process until the operations are over.
enum class RunBy : unsigned char { at_once, polled, thread, engine };

struct CommunicatorOptions {
  RunBy run_by = RunBy::polled;
  // RunBy::thread: binds the thread to the nearest core where no rank of the node may run. If there
  // is no such core, it is bound to its rank's processors.
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

// RunBy::engine: operations of one communicator that this rank gave to the adapter. If an operation
// was not posted whole when it was started, it may need steps of this process before it is over.
// Such steps serve this rank or others; calls that start, test, wait and progress make them.
struct EngineAccounts {
  std::uint64_t operations = 0;
  // Operations that were not posted whole. connecting: peers had still to be connected, as before
  // the first operation with them. in_parts: the adapter's queues hold no more.
  std::uint64_t connecting = 0, in_parts = 0;
};

// The result on which the ranks that live have agreed.
struct Agreed {
  // If there is no error, the rest is the same on all ranks that have a result.
  CollectiveError error;
  bool all = false;        // each of them has said yes
  std::vector<int> ended;  // ranks of the communicator that ended

  explicit operator bool() const { return !error; }
};

class Communicator {
 public:
  Communicator();  // an empty one, as after free()
  // Makes a communicator of all ranks of a channel. All of them call it. The channel must outlive
  // the communicator and its requests. If it cannot be made, the communicator is empty and error()
  // says why.
  static Communicator over(channel::Channel& channel, const CommunicatorOptions& options = {});
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  const CollectiveError& error() const;  // why the communicator is empty
  explicit operator bool() const { return state_ != nullptr; }
  int rank() const;  // -1: the communicator is empty
  int size() const;
  int nodes() const;
  // Returns text for people: the executor of the operations, where it runs, and how many operations
  // were not posted whole.
  std::string describe() const;
  EngineAccounts engine_accounts() const;

  // run() blocks until the operation is over. start() and prepare() always return a request. If the
  // call is wrong, the request's start() or wait() returns the error.
  CollectiveError run(const Collective& collective);
  CollectiveRequest start(const Collective& collective);
  CollectiveRequest prepare(const Collective& collective);
  CollectiveError barrier() { return run(Collective::barrier()); }

  // All ranks call these. Ranks with one color get one communicator, in the order of key, then
  // rank. A rank with kNoColor gets an empty one.
  static constexpr int kNoColor = -1;
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
  Agreed agree(bool yes);
  // Makes a communicator of the ranks that live, in their order. A rank that dies late may still be
  // among them. Then operations of the new communicator fail, and the program shrinks it again.
  Communicator shrink();

  // Operations under way go on, but this communicator starts nothing more, prepared operations
  // included. All ranks free it, after the same operations. Operations that go on after that fail
  // with the name of a rank that has freed it. A rank that drops its communicator without free()
  // tells no other rank, and is waited for.
  void free();

  struct State;

 private:
  friend struct CommunicatorMaker;
  explicit Communicator(std::shared_ptr<State> state);
  explicit Communicator(CollectiveError error);
  // Makes the request of start(), or of prepare() if `persistent`.
  CollectiveRequest prepare_as(const Collective& collective, bool persistent);
  // Does the work of split(). All ranks must give the same word `alike`. If this rank's call is
  // wrong, `wrong` says why; otherwise it is empty.
  Communicator split(int color, int key, std::uint64_t alike, const std::string& wrong);
  // Sets `number` to the lowest number from it on with a context that is free on all ranks. All
  // ranks call it with the same number. It sets kNoNumber
  // (collectives/communicator/communicator.cpp) if no context is free.
  CollectiveError agree_on_number(std::uint64_t& number);
  std::shared_ptr<State> state_;
  CollectiveError error_;
};

}  // namespace scela
#pragma GCC visibility pop
