// Collective operations among the processes of a job, or some of them (docs/collectives.md).
//
//   scela::Communicator world = scela::Communicator::over(channel);
//   std::vector<double> mine(1000), all(1000);
//   const auto sum = scela::Collective::allreduce(mine, all, scela::ReduceOp::sum);
//   if (const auto error = world.run(sum)) report(error.text());
//   scela::CollectiveRequest request = world.start(sum);  // goes on while this rank computes
//   ...
//   if (const auto error = request.wait()) report(error.text());
//
// A Collective says what is to be done; a communicator does it at once (run), begins it (start), or
// makes it ready to be started any number of times (prepare). All ranks of a communicator call the
// same operations in the same order. Not for two threads at once.
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

// The last ones are {value; std::int32_t place;}, as C lays them out.
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
  opaque,  // bytes: moved, and reduced only by the program's own operations
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

// Elements that stand one behind the other; the program's, who keeps them while an operation that
// has them is under way.
class View {
 public:
  View() = default;  // nothing: of ranks that get nothing
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

// Instead of an input: it stands in the output (docs/collectives.md says where). All ranks say so;
// of reduce, gather and scatter only the root's word counts.
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

// How two elements become one.
class Reducer {
 public:
  // result[i] = left[i] op right[i]; `result` is `left` or `right`. It must be associative, and
  // throw nothing.
  using Function = std::function<void(const std::byte* left, const std::byte* right,
                                      std::byte* result, std::size_t elements)>;
  Reducer(ReduceOp op) : op_(op) {}
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
  argument,    // what was asked cannot be: nothing was sent or received by this rank
  misuse,      // of a request or communicator: waited for twice, started twice, freed
  mismatch,    // the ranks have called with other sizes or operations than each other, or one has
               // freed what others go on with
  peer_ended,  // a rank has ended, or its node is lost
  resources,   // memory or descriptors are exhausted
  timed_out,   // of waits only: the operation goes on
  cancelled,
  other,
};
const char* name_of(CollectiveCode code);

struct CollectiveError {
  CollectiveCode code = CollectiveCode::none;
  int rank = -1;                             // of the communicator, whose fault it is; -1: nobody's
  std::shared_ptr<const std::string> words;  // what was tried, what happened, what to do

  explicit operator bool() const { return code != CollectiveCode::none; }
  std::string text() const;
};

// An operation, with this rank's buffers.
class Collective {
 public:
  static Collective barrier();
  static Collective bcast(View message, int root);
  static Collective reduce(ConstView input, View output, Reducer reducer, int root);
  static Collective allreduce(ConstView input, View output, Reducer reducer);
  static Collective gather(ConstView input, View output, int root);
  // A root that gives no output keeps its block in its input.
  static Collective scatter(ConstView input, View output, int root);
  static Collective allgather(ConstView input, View output);
  static Collective alltoall(ConstView input, View output);
  static Collective reduce_scatter_block(ConstView input, View output, Reducer reducer);
  static Collective scan(ConstView input, View output, Reducer reducer);
  static Collective exscan(ConstView input, View output, Reducer reducer);
  // Parts by rank, all of them. Of gatherv and scatterv only the root needs them.
  static Collective gatherv(ConstView input, View output, std::vector<Part> parts, int root);
  static Collective scatterv(ConstView input, std::vector<Part> parts, View output, int root);
  static Collective allgatherv(ConstView input, View output, std::vector<Part> parts);
  static Collective alltoallv(ConstView input, std::vector<Part> input_parts, View output,
                              std::vector<Part> output_parts);
  // The parts of the input stand one behind the other: offsets do not matter.
  static Collective reduce_scatter(ConstView input, View output, std::vector<Part> parts,
                                   Reducer reducer);

  // Instead of the table's choice: as a table's row says it, "ring", "chain segment 16K". All ranks
  // say the same.
  Collective& by(std::string algorithm);

  struct Inside;
  std::shared_ptr<const Inside> inside() const { return inside_; }

 private:
  explicit Collective(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
  std::shared_ptr<Inside> inside_;
};

// An operation that was started, or may be (prepare). It owns its state: destroyed while it is
// under way it is cancelled, and others may wait for this rank then.
class CollectiveRequest {
 public:
  using Limit = std::optional<std::chrono::nanoseconds>;

  CollectiveRequest();  // of nothing
  CollectiveRequest(CollectiveRequest&&) noexcept;
  CollectiveRequest& operator=(CollectiveRequest&&) noexcept;
  ~CollectiveRequest();

  // Whether it is over; moves what can be moved.
  bool test();
  // Until it is over, or the limit is (timed_out; it goes on). An operation is waited for once.
  CollectiveError wait(Limit limit = {});
  // Of one that was prepared, and is not under way.
  CollectiveError start();
  bool persistent() const;
  // For people: "allreduce by ring".
  std::string describe() const;

  struct State;

 private:
  friend class Communicator;
  friend struct Waits;
  explicit CollectiveRequest(std::unique_ptr<State> state);
  explicit CollectiveRequest(CollectiveError refused);
  CollectiveError refused_or_nothing() const;
  std::unique_ptr<State> state_;
  CollectiveError refused_;  // where there is no state
};

// The index of one that is over; requests.size(): none before the limit, or none is under way.
std::size_t wait_any(std::span<CollectiveRequest> requests, CollectiveRequest::Limit limit = {});

// Who moves the messages of operations under way: the caller at once, in start(); the caller
// whenever it calls; a thread beside it (the channel needs Threads::multiple then); the engine of
// an adapter, which needs nobody until they are over.
enum class RunBy : unsigned char { at_once, polled, thread, engine };

struct CommunicatorOptions {
  RunBy run_by = RunBy::polled;
  // RunBy::thread: it is bound to the nearest core where no rank of the node may run; where there
  // is none, to its rank's processors.
  bool bind_thread = true;
  // Rows before those that are built in (docs/collectives.md, Choice). The environment's come
  // before these: SCELA_COLL_<OPERATION>, then the file that SCELA_COLL_TABLE names.
  std::string table;
  // Before each operation ranks compare what they call; who differs is named, in what, and nothing
  // else is sent. SCELA_COLL_CHECK=0 or 1 overrules it. All ranks say the same.
  bool check = false;
};

// RunBy::engine: operations of one communicator that this rank gave to the adapter. One that was
// not posted whole when it was started may need steps of this process before it is over, here or at
// other ranks: its calls that start, test, wait and progress make them.
struct EngineAccounts {
  std::uint64_t operations = 0;
  // Of these, not posted whole: since peers had still to be connected, as before the first
  // operation with them; since the adapter's queues hold no more.
  std::uint64_t connecting = 0, in_parts = 0;
};

// What those who live have agreed on.
struct Agreed {
  CollectiveError error;   // none: the rest holds, and is the same on all ranks that have it
  bool all = false;        // each of them has said yes
  std::vector<int> ended;  // ranks of the communicator that have ended

  explicit operator bool() const { return !error; }
};

class Communicator {
 public:
  Communicator();  // of nobody, as one that was freed
  // All of a channel's ranks, which all call it; the channel outlives it and its requests. Where it
  // cannot be, error() says why.
  static Communicator over(channel::Channel& channel, const CommunicatorOptions& options = {});
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  const CollectiveError& error() const;  // why it is none
  explicit operator bool() const { return state_ != nullptr; }
  int rank() const;  // -1: of nobody
  int size() const;
  int nodes() const;
  // For people: the executor of the operations, where it runs, and how many were not posted whole.
  std::string describe() const;
  EngineAccounts engine_accounts() const;

  CollectiveError run(const Collective& collective);
  CollectiveRequest start(const Collective& collective);
  CollectiveRequest prepare(const Collective& collective);
  CollectiveError barrier() { return run(Collective::barrier()); }

  // All ranks call these. Those of one color are one communicator, in the order of key, then rank;
  // of kNoColor: nobody's.
  static constexpr int kNoColor = -1;
  Communicator split(int color, int key);
  Communicator dup();
  // Of these ranks, in this order; for others, nobody's. All ranks name the same.
  Communicator subgroup(std::span<const int> ranks);
  Communicator node();     // of this rank's node
  Communicator leaders();  // of each node's first rank

  // Once a rank has ended, every operation fails with its name; these do not. All that live call
  // them, in the same order among themselves; who dies meanwhile is not waited for. Any two ranks
  // learn the same.
  Agreed agree(bool yes);
  // Of those that live, in their order. One who dies late may still be of it: then its operations
  // fail, and it is shrunk again.
  Communicator shrink();

  // Those under way go on; nothing more is started by it, of what was prepared neither. All ranks
  // do so, after the same operations: those that go on fail with the name of one that has freed it.
  // Who lets it go without free() tells nobody, and is waited for.
  void free();

  struct State;

 private:
  friend struct CommunicatorMaker;
  explicit Communicator(std::shared_ptr<State> state);
  explicit Communicator(CollectiveError error);
  CollectiveRequest prepare_as(const Collective& collective, bool persistent);
  Communicator split(int color, int key, std::uint64_t alike, const std::string& wrong);
  CollectiveError agree_on_number(std::uint64_t& number);
  std::shared_ptr<State> state_;
  CollectiveError error_;
};

}  // namespace scela
#pragma GCC visibility pop
