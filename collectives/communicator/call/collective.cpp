#include "collectives/communicator/call/collective.h"

#include <new>

#include "collectives/communicator/call/recycling.h"
#include "common/core/text.h"

namespace scela {

using collectives::Operation;

std::string collectives::name_of_call(Operation operation, bool has_parts) {
  if (operation == Operation::reduce_scatter)
    return has_parts ? "reduce_scatter" : "reduce_scatter_block";
  return cat(name_of(operation), has_parts ? "v" : "");
}

namespace {

// Returns null if there is no memory. The communicator that is to run the operation then says so to
// all its ranks.
[[gnu::always_inline]] inline std::shared_ptr<Collective::Inside> inside_of(Operation operation,
                                                                            ConstBuffer input,
                                                                            Buffer output,
                                                                            int root = 0) try {
  auto inside =
      std::allocate_shared<Collective::Inside>(collectives::Recycling<Collective::Inside>());
  inside->operation = operation;
  inside->root = root;
  inside->input = input;
  inside->output = output;
  return inside;
} catch (const std::bad_alloc&) {
  return nullptr;
}

std::shared_ptr<Collective::Inside> inside_of(Operation operation, ConstBuffer input, Buffer output,
                                              Reducer reducer, int root = 0) {
  auto inside = inside_of(operation, input, output, root);
  if (inside) inside->reducer = std::move(reducer);
  return inside;
}

std::shared_ptr<Collective::Inside> in_parts(std::shared_ptr<Collective::Inside> inside,
                                             std::vector<Part> input, std::vector<Part> output) {
  if (!inside) return inside;
  inside->has_parts = true;
  inside->input_parts = std::move(input);
  inside->output_parts = std::move(output);
  return inside;
}

}  // namespace

Collective Collective::barrier() {
  return Collective(inside_of(Operation::barrier, {}, {}));
}
Collective Collective::bcast(Buffer message, int root) {
  return Collective(inside_of(Operation::bcast, {}, message, root));
}
Collective Collective::reduce(ConstBuffer input, Buffer output, Reducer reducer, int root) {
  return Collective(inside_of(Operation::reduce, input, output, std::move(reducer), root));
}
Collective Collective::allreduce(ConstBuffer input, Buffer output, Reducer reducer) {
  return Collective(inside_of(Operation::allreduce, input, output, std::move(reducer)));
}
Collective Collective::gather(ConstBuffer input, Buffer output, int root) {
  return Collective(inside_of(Operation::gather, input, output, root));
}
Collective Collective::scatter(ConstBuffer input, Buffer output, int root) {
  return Collective(inside_of(Operation::scatter, input, output, root));
}
Collective Collective::allgather(ConstBuffer input, Buffer output) {
  return Collective(inside_of(Operation::allgather, input, output));
}
Collective Collective::alltoall(ConstBuffer input, Buffer output) {
  return Collective(inside_of(Operation::alltoall, input, output));
}
Collective Collective::reduce_scatter_block(ConstBuffer input, Buffer output, Reducer reducer) {
  return Collective(inside_of(Operation::reduce_scatter, input, output, std::move(reducer)));
}
Collective Collective::scan(ConstBuffer input, Buffer output, Reducer reducer) {
  return Collective(inside_of(Operation::scan, input, output, std::move(reducer)));
}
Collective Collective::exscan(ConstBuffer input, Buffer output, Reducer reducer) {
  return Collective(inside_of(Operation::exscan, input, output, std::move(reducer)));
}
Collective Collective::gatherv(ConstBuffer input, Buffer output, std::vector<Part> parts,
                               int root) {
  return Collective(
      in_parts(inside_of(Operation::gather, input, output, root), {}, std::move(parts)));
}
Collective Collective::scatterv(ConstBuffer input, std::vector<Part> parts, Buffer output,
                                int root) {
  return Collective(
      in_parts(inside_of(Operation::scatter, input, output, root), std::move(parts), {}));
}
Collective Collective::allgatherv(ConstBuffer input, Buffer output, std::vector<Part> parts) {
  return Collective(in_parts(inside_of(Operation::allgather, input, output), {}, std::move(parts)));
}
Collective Collective::alltoallv(ConstBuffer input, std::vector<Part> input_parts, Buffer output,
                                 std::vector<Part> output_parts) {
  return Collective(in_parts(inside_of(Operation::alltoall, input, output), std::move(input_parts),
                             std::move(output_parts)));
}
Collective Collective::reduce_scatter(ConstBuffer input, Buffer output, std::vector<Part> parts,
                                      Reducer reducer) {
  std::size_t offset = 0;
  for (Part& part : parts) {
    part.offset = offset;
    offset += part.count;
  }
  return Collective(
      in_parts(inside_of(Operation::reduce_scatter, input, output, std::move(reducer)),
               std::move(parts), {}));
}

Collective& Collective::algorithm(std::string name) {
  if (!inside_) return *this;
  // The contents are copied, because a request may share them.
  inside_ = std::make_shared<Inside>(*inside_);
  inside_->algorithm = std::move(name);
  return *this;
}

namespace collectives {

Status error_of(Code code, int rank, std::string message) {
  return {code, rank, std::move(message)};
}

}  // namespace collectives
}  // namespace scela
