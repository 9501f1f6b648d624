// Reductions and collective operations. Each is a value, scela::Collective, that the blocking call
// runs and the other one starts.
#include <cstring>

#include "layer.h"

namespace layer {
namespace {

using scela::Buffer;
using scela::Collective;
using scela::ConstBuffer;
using scela::ReduceOp;

std::optional<ReduceOp> predefined(MPI_Op op) {
  constexpr std::pair<std::uintptr_t, ReduceOp> kAll[] = {
      {0x21, ReduceOp::sum},         {0x22, ReduceOp::minimum},     {0x23, ReduceOp::maximum},
      {0x24, ReduceOp::product},     {0x28, ReduceOp::bit_and},     {0x29, ReduceOp::bit_or},
      {0x2a, ReduceOp::bit_xor},     {0x30, ReduceOp::logical_and}, {0x31, ReduceOp::logical_or},
      {0x32, ReduceOp::logical_xor}, {0x38, ReduceOp::minloc},      {0x39, ReduceOp::maxloc}};
  for (const auto& [handle, known] : kAll)
    if (reinterpret_cast<std::uintptr_t>(op) == handle) return known;
  return std::nullopt;
}

// Calls the program's function, which sets its second argument to left op right. The elements are
// packed, so those of a datatype with gaps are laid out for the call.
void call(const MPI_ABI_Op& op, MPI_ABI_Datatype type, std::byte* left, std::byte* right, int n) {
  const Layout& layout = *type.layout;
  MPI_Datatype handle = &type;
  if (layout.is_dense()) return op.function(left, right, &n, &handle);
  const auto bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(layout.extent);
  std::vector<std::byte> a(bytes), b(bytes);
  layout.unpack(left, a.data() - layout.lb, n);
  layout.unpack(right, b.data() - layout.lb, n);
  op.function(a.data() - layout.lb, b.data() - layout.lb, &n, &handle);
  layout.pack(b.data() - layout.lb, n, right);
}

// The result may replace either operand; MPI's function replaces the second.
scela::Reducer reducer_of(const MPI_ABI_Op& op, const std::shared_ptr<const Layout>& layout) {
  const auto function = [op, layout](const std::byte* left, const std::byte* right,
                                     std::byte* result, std::size_t elements) {
    auto* const first = const_cast<std::byte*>(left);
    const int n = static_cast<int>(elements);
    if (result == right) return call(op, {layout}, first, result, n);
    std::vector<std::byte> copy(right, right + elements * layout->size);
    call(op, {layout}, first, copy.data(), n);
    std::memcpy(result, copy.data(), copy.size());
  };
  return scela::Reducer::of(function, op.commutes);
}

// Runs an operation, or starts it if `request` is not null. `describe` sets the operation. If the
// root is wrong, no rank could know what this rank would have sent, and libscela would end all
// operations of the communicator; so the layer looks at the root itself.
template <class Describe>
int run(const char* function, MPI_Comm comm, int root, MPI_Request* request, Describe describe) {
  return with(comm, function, [&](MPI_ABI_Comm& c) -> Result {
    if (root < 0 || root >= c.ranks.size())
      return {MPI_ERR_ROOT, "root " + std::to_string(root) + " is no rank of the communicator"};
    auto operation = std::make_unique<Operation>();
    const Result described = describe(c, *operation);
    if (!described.ok()) return described;
    if (!operation->wrong().ok()) return operation->wrong();
    if (request == nullptr) {
      const scela::Status status = c.ranks.run(operation->what());
      if (status.ok()) operation->finish();
      return result_of(status);
    }
    auto made = std::make_unique<MPI_ABI_Request>();
    made->handler = c.handler;
    made->request = c.ranks.start(operation->what());
    made->operation = std::move(operation);
    process.under_way.push_back(made.get());
    *request = made.release();
    return {};
  });
}

struct Reduction {
  const void* in;
  void* out;
  int count;
  MPI_Datatype type;
  MPI_Op op;
};
using MakeReduction = Collective (*)(ConstBuffer, Buffer, scela::Reducer);

// Describes a reduction. `blocks` is the size of the input in counts, `root` is -1 if every rank
// gets a result.
template <class Make>
Result describe(Operation& operation, const MPI_ABI_Comm& comm, const Reduction& a, int blocks,
                int root, Make make) {
  const std::shared_ptr<const Layout>& layout = layout_of(a.type);
  const std::optional<ReduceOp> known = predefined(a.op);
  const bool is_own = reinterpret_cast<std::uintptr_t>(a.op) >= 0x1000;
  if (layout == nullptr) return {MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL or none"};
  if (!known && !is_own) return {MPI_ERR_OP, "the operation is MPI_OP_NULL or none"};
  const bool is_in_place = a.in == MPI_IN_PLACE;
  const auto as = known ? Operation::Elements::reduced : Operation::Elements::opaque;
  const int out_blocks = is_in_place ? blocks : 1;
  const ConstBuffer in = operation.input(a.in, a.count, blocks, a.type, as);
  const bool has_output = root < 0 || root == comm.ranks.rank();
  const Buffer out =
      has_output ? operation.output(a.out, a.count, out_blocks, a.type, is_in_place, as) : Buffer();
  operation.set(make(in, out, known ? scela::Reducer(*known) : reducer_of(*a.op, layout)));
  return {};
}

int reduce_to(int root, const char* function, const Reduction& a, MPI_Comm comm,
              MPI_Request* request) {
  return run(function, comm, root, request, [&](MPI_ABI_Comm& c, Operation& operation) {
    return describe(operation, c, a, 1, root, [&](ConstBuffer in, Buffer out, scela::Reducer by) {
      return Collective::reduce(in, out, std::move(by), root);
    });
  });
}

// Every rank gets a result: allreduce, scan, exscan; and reduce_scatter_block, which has a block of
// input for each rank.
int reduce_all(MakeReduction make, const char* function, const Reduction& a, MPI_Comm comm,
               MPI_Request* request) {
  return run(function, comm, 0, request, [&](MPI_ABI_Comm& c, Operation& operation) {
    const int blocks = make == &Collective::reduce_scatter_block ? c.ranks.size() : 1;
    return describe(operation, c, a, blocks, -1, make);
  });
}

// The two ends of an operation that moves blocks, and their counts of one block.
struct Move {
  const void* in;
  int in_count;
  MPI_Datatype in_type;
  void* out;
  int out_count;
  MPI_Datatype out_type;
};

int gather(const char* function, const Move& a, int root, MPI_Comm comm, MPI_Request* request) {
  return run(function, comm, root, request, [&](MPI_ABI_Comm& c, Operation& operation) -> Result {
    const ConstBuffer in = operation.input(a.in, a.in_count, 1, a.in_type);
    Buffer out;
    if (c.ranks.rank() == root)
      out = operation.output(a.out, a.out_count, c.ranks.size(), a.out_type, in.is_in_place());
    return operation.set(Collective::gather(in, out, root)), Result{};
  });
}

int scatter(const char* function, const Move& a, int root, MPI_Comm comm, MPI_Request* request) {
  return run(function, comm, root, request, [&](MPI_ABI_Comm& c, Operation& operation) -> Result {
    ConstBuffer in;
    if (c.ranks.rank() == root) in = operation.input(a.in, a.in_count, c.ranks.size(), a.in_type);
    Buffer out;  // none: the root's own block stays in its input
    if (a.out != MPI_IN_PLACE) out = operation.output(a.out, a.out_count, 1, a.out_type, false);
    return operation.set(Collective::scatter(in, out, root)), Result{};
  });
}

// Every rank gets a block from each: allgather and alltoall.
int exchange(bool is_alltoall, const char* function, const Move& a, MPI_Comm comm,
             MPI_Request* request) {
  return run(function, comm, 0, request, [&](MPI_ABI_Comm& c, Operation& operation) -> Result {
    const int size = c.ranks.size();
    const ConstBuffer in = operation.input(a.in, a.in_count, is_alltoall ? size : 1, a.in_type);
    const Buffer out = operation.output(a.out, a.out_count, size, a.out_type, in.is_in_place());
    operation.set(is_alltoall ? Collective::alltoall(in, out) : Collective::allgather(in, out));
    return {};
  });
}

int bcast(const char* function, void* buf, int count, MPI_Datatype type, int root, MPI_Comm comm,
          MPI_Request* request) {
  return run(function, comm, root, request, [&](MPI_ABI_Comm&, Operation& operation) -> Result {
    operation.set(Collective::bcast(operation.output(buf, count, 1, type, true), root));
    return {};
  });
}

int barrier(const char* function, MPI_Comm comm, MPI_Request* request) {
  return run(function, comm, 0, request, [](MPI_ABI_Comm&, Operation& operation) -> Result {
    return operation.set(Collective::barrier()), Result{};
  });
}

}  // namespace

// Returns the elements as libscela has them. If they have gaps, `copy` takes them first.
Buffer Operation::view(void* buffer, int count, int blocks, MPI_Datatype type, Elements as,
                       bool loads, std::vector<std::byte>& copy) {
  const std::shared_ptr<const Layout>& layout = layout_of(type);
  if (layout == nullptr) wrong_ = {MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL or none"};
  if (count < 0) wrong_ = {MPI_ERR_COUNT, "the count is " + std::to_string(count)};
  if (!wrong_.ok()) return {};
  const std::size_t all = static_cast<std::size_t>(count) * static_cast<std::size_t>(blocks);
  if (as == Elements::reduced) return {buffer, all, layout->element_bytes, layout->element};
  const std::size_t bytes = all * layout->size;
  if (!layout->is_dense()) {
    copy.resize(bytes);
    if (loads) layout->pack(buffer, count * blocks, copy.data());
    buffer = copy.data();
  }
  if (as == Elements::opaque && layout->size != 0)
    return {buffer, all, layout->size, scela::ElementType::opaque};
  return {buffer, bytes, 1, scela::ElementType::uint8};
}

ConstBuffer Operation::input(const void* buffer, int count, int blocks, MPI_Datatype type,
                             Elements as) {
  if (buffer == MPI_IN_PLACE) return scela::kInPlace;
  return view(const_cast<void*>(buffer), count, blocks, type, as, true, in_);
}

Buffer Operation::output(void* buffer, int count, int blocks, MPI_Datatype type, bool loads,
                         Elements as) {
  const Buffer made = view(buffer, count, blocks, type, as, loads, out_);
  if (!out_.empty())
    then_ = [this, buffer, n = count * blocks, layout = layout_of(type)] {
      layout->unpack(out_.data(), buffer, n);
    };
  return made;
}

}  // namespace layer

using namespace layer;

int MPI_Op_create(MPI_User_function* function, int commute, MPI_Op* op) {
  *op = new MPI_ABI_Op{function, commute != 0};
  return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op* op) {
  return with(MPI_COMM_SELF, "MPI_Op_free", [&](MPI_ABI_Comm&) -> Result {
    if (reinterpret_cast<std::uintptr_t>(*op) < 0x1000)
      return {MPI_ERR_OP, "a predefined operation is not freed"};
    delete std::exchange(*op, MPI_OP_NULL);
    return {};
  });
}

// Defines a blocking call and the one that starts the same, which differ in `name` and `request`.
#define BOTH(blocking, starting, call, ...)                        \
  int blocking(__VA_ARGS__, MPI_Comm comm) {                       \
    const char* const name = #blocking;                            \
    MPI_Request* const request = nullptr;                          \
    return call;                                                   \
  }                                                                \
  int starting(__VA_ARGS__, MPI_Comm comm, MPI_Request* request) { \
    const char* const name = #starting;                            \
    return call;                                                   \
  }
#define REDUCTION const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op
#define MOVE                                                                               \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, \
      MPI_Datatype recvtype

int MPI_Barrier(MPI_Comm comm) {
  return barrier("MPI_Barrier", comm, nullptr);
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return barrier("MPI_Ibarrier", comm, request);
}
BOTH(MPI_Bcast, MPI_Ibcast, bcast(name, buf, count, datatype, root, comm, request), void* buf,
     int count, MPI_Datatype datatype, int root)
BOTH(MPI_Reduce, MPI_Ireduce,
     reduce_to(root, name, {sendbuf, recvbuf, count, datatype, op}, comm, request), REDUCTION,
     int root)
BOTH(MPI_Allreduce, MPI_Iallreduce,
     reduce_all(&Collective::allreduce, name, {sendbuf, recvbuf, count, datatype, op}, comm,
                request),
     REDUCTION)
BOTH(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
     reduce_all(&Collective::reduce_scatter_block, name, {sendbuf, recvbuf, count, datatype, op},
                comm, request),
     REDUCTION)
BOTH(MPI_Scan, MPI_Iscan,
     reduce_all(&Collective::scan, name, {sendbuf, recvbuf, count, datatype, op}, comm, request),
     REDUCTION)
BOTH(MPI_Exscan, MPI_Iexscan,
     reduce_all(&Collective::exscan, name, {sendbuf, recvbuf, count, datatype, op}, comm, request),
     REDUCTION)
BOTH(MPI_Gather, MPI_Igather,
     gather(name, {sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype}, root, comm,
            request),
     MOVE, int root)
BOTH(MPI_Scatter, MPI_Iscatter,
     scatter(name, {sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype}, root, comm,
             request),
     MOVE, int root)
BOTH(MPI_Allgather, MPI_Iallgather,
     exchange(false, name, {sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype}, comm,
              request),
     MOVE)
BOTH(MPI_Alltoall, MPI_Ialltoall,
     exchange(true, name, {sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype}, comm,
              request),
     MOVE)
