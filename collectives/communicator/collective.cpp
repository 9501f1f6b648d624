#include "collectives/communicator/collective.h"

#include <new>

#include "collectives/communicator/recycling.h"
#include "common/core/text.h"

namespace scela {

using collectives::Operation;

namespace {

// Returns null if there is no memory. The communicator that is to run the operation then says so to
// all its ranks.
[[gnu::always_inline]] inline std::shared_ptr<Collective::Inside> inside_of(Operation operation,
                                                                            ConstView input,
                                                                            View output,
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

std::shared_ptr<Collective::Inside> inside_of(Operation operation, ConstView input, View output,
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
Collective Collective::bcast(View message, int root) {
  return Collective(inside_of(Operation::bcast, {}, message, root));
}
Collective Collective::reduce(ConstView input, View output, Reducer reducer, int root) {
  return Collective(inside_of(Operation::reduce, input, output, std::move(reducer), root));
}
Collective Collective::allreduce(ConstView input, View output, Reducer reducer) {
  return Collective(inside_of(Operation::allreduce, input, output, std::move(reducer)));
}
Collective Collective::gather(ConstView input, View output, int root) {
  return Collective(inside_of(Operation::gather, input, output, root));
}
Collective Collective::scatter(ConstView input, View output, int root) {
  return Collective(inside_of(Operation::scatter, input, output, root));
}
Collective Collective::allgather(ConstView input, View output) {
  return Collective(inside_of(Operation::allgather, input, output));
}
Collective Collective::alltoall(ConstView input, View output) {
  return Collective(inside_of(Operation::alltoall, input, output));
}
Collective Collective::reduce_scatter_block(ConstView input, View output, Reducer reducer) {
  return Collective(inside_of(Operation::reduce_scatter, input, output, std::move(reducer)));
}
Collective Collective::scan(ConstView input, View output, Reducer reducer) {
  return Collective(inside_of(Operation::scan, input, output, std::move(reducer)));
}
Collective Collective::exscan(ConstView input, View output, Reducer reducer) {
  return Collective(inside_of(Operation::exscan, input, output, std::move(reducer)));
}
Collective Collective::gatherv(ConstView input, View output, std::vector<Part> parts, int root) {
  return Collective(
      in_parts(inside_of(Operation::gather, input, output, root), {}, std::move(parts)));
}
Collective Collective::scatterv(ConstView input, std::vector<Part> parts, View output, int root) {
  return Collective(
      in_parts(inside_of(Operation::scatter, input, output, root), std::move(parts), {}));
}
Collective Collective::allgatherv(ConstView input, View output, std::vector<Part> parts) {
  return Collective(in_parts(inside_of(Operation::allgather, input, output), {}, std::move(parts)));
}
Collective Collective::alltoallv(ConstView input, std::vector<Part> input_parts, View output,
                                 std::vector<Part> output_parts) {
  return Collective(in_parts(inside_of(Operation::alltoall, input, output), std::move(input_parts),
                             std::move(output_parts)));
}
Collective Collective::reduce_scatter(ConstView input, View output, std::vector<Part> parts,
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

Collective& Collective::by(std::string algorithm) {
  if (!inside_) return *this;
  // The contents are copied, because a request may share them.
  inside_ = std::make_shared<Inside>(*inside_);
  inside_->by = std::move(algorithm);
  return *this;
}

const char* name_of(CollectiveCode code) {
  switch (code) {
    case CollectiveCode::none:
      return "none";
    case CollectiveCode::argument:
      return "argument";
    case CollectiveCode::misuse:
      return "misuse";
    case CollectiveCode::mismatch:
      return "mismatch";
    case CollectiveCode::peer_ended:
      return "peer ended";
    case CollectiveCode::resources:
      return "resources";
    case CollectiveCode::timed_out:
      return "timed out";
    case CollectiveCode::cancelled:
      return "cancelled";
    case CollectiveCode::other:
      break;
  }
  return "other";
}

std::string CollectiveError::text() const {
  return words ? *words : std::string(name_of(code));
}

namespace collectives {

CollectiveError error_of(CollectiveCode code, int rank, std::string words) {
  return {code, rank, std::make_shared<const std::string>(std::move(words))};
}

}  // namespace collectives
}  // namespace scela
