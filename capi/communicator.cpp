#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "capi/handles.h"
#include "common/core/text.h"

using namespace scela::capi;
using scela::Buffer;
using scela::Code;
using scela::Collective;
using scela::Communicator;
using scela::CommunicatorOptions;
using scela::ConstBuffer;
using scela::ElementType;
using scela::Part;
using scela::Reducer;
using scela::Status;

namespace {

Status wrong(std::string text) {
  return {Code::bad_argument, -1, std::move(text)};
}

// ---- settings ----

Status take(CommunicatorOptions& options, std::string_view setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos)
    return wrong(scela::cat("make a communicator: the setting '", setting, "' has no '='"));
  const std::string_view name = setting.substr(0, equals);
  const std::string_view value = setting.substr(equals + 1);
  const bool is_flag = value == "0" || value == "1";
  if (name == "PROGRESS") {
    constexpr std::array<std::string_view, 4> kModes{"at_once", "polled", "thread", "engine"};
    for (std::size_t i = 0; i < kModes.size(); ++i)
      if (value == kModes[i]) {
        options.progress = static_cast<scela::ProgressMode>(i);
        return {};
      }
    return wrong(scela::cat("make a communicator: PROGRESS cannot be '", value,
                            "' (valid: at_once, polled, thread, engine)"));
  }
  if (name == "TABLE") {
    options.table = value;
    return {};
  }
  if (name != "CHECK" && name != "BIND_THREAD")
    return wrong(scela::cat("make a communicator: there is no setting '", name,
                            "' (valid: PROGRESS, TABLE, CHECK, BIND_THREAD)"));
  if (!is_flag)
    return wrong(
        scela::cat("make a communicator: ", name, " cannot be '", value, "' (valid: 0, 1)"));
  (name == "CHECK" ? options.check : options.bind_thread) = value == "1";
  return {};
}

// ---- operations ----

// The operation refuses it, so that the other ranks are told.
constexpr auto kNoReduceOp = static_cast<scela::ReduceOp>(SCELA_OWN_FUNCTION);

constexpr std::size_t kBytesOfType[] = {1,
                                        1,
                                        2,
                                        2,
                                        4,
                                        4,
                                        8,
                                        8,
                                        2,
                                        2,
                                        4,
                                        8,
                                        sizeof(long double),
                                        8,
                                        8,
                                        16,
                                        8,
                                        16,
                                        2 * sizeof(long double)};
static_assert(std::size(kBytesOfType) == static_cast<std::size_t>(ElementType::opaque));

bool is_type(scela_type type) {
  return type == SCELA_OPAQUE || (type >= SCELA_INT8 && type <= SCELA_LONG_DOUBLE_INDEX);
}

ElementType type_of(scela_type type) {
  return type == SCELA_OPAQUE || !is_type(type) ? ElementType::opaque
                                                : static_cast<ElementType>(type);
}

// A value that is no type has elements of no bytes, which the operation refuses. So the other ranks
// are told of it, as of each wrong argument.
std::size_t bytes_of(scela_type type, std::size_t element_bytes) {
  if (!is_type(type)) return 0;
  if (type == SCELA_OPAQUE) return element_bytes == 0 ? 1 : element_bytes;
  return kBytesOfType[type];
}

ConstBuffer input_of(const scela_collective& call) {
  if (call.in_place != 0) return scela::kInPlace;
  const scela_const_buffer& from = call.input;
  return {from.data, from.count, bytes_of(from.type, from.element_bytes), type_of(from.type)};
}

Buffer output_of(const scela_collective& call) {
  const scela_buffer& to = call.output;
  return {to.data, to.count, bytes_of(to.type, to.element_bytes), type_of(to.type)};
}

Reducer reducer_of(const scela_collective& call) {
  if (call.reduce_op != SCELA_OWN_FUNCTION) {
    const bool is_known = call.reduce_op >= SCELA_SUM && call.reduce_op <= SCELA_MAXLOC;
    return is_known ? static_cast<scela::ReduceOp>(call.reduce_op) : kNoReduceOp;
  }
  if (call.function == nullptr) return Reducer::of({}, call.commutes != 0);
  return Reducer::of([function = call.function, user = call.user](
                         const std::byte* left, const std::byte* right, std::byte* result,
                         std::size_t elements) { function(left, right, result, elements, user); },
                     call.commutes != 0);
}

std::vector<Part> parts_of(const scela_part* parts, int ranks) {
  std::vector<Part> list;
  for (int rank = 0; parts != nullptr && rank < ranks; ++rank)
    list.push_back({parts[rank].count, parts[rank].offset});
  return list;
}

// The members of the call were checked.
Collective operation_of(const scela_collective& call, int ranks) {
  const ConstBuffer input = input_of(call);
  const Buffer output = output_of(call);
  const auto input_parts = [&] { return parts_of(call.input_parts, ranks); };
  const auto output_parts = [&] { return parts_of(call.output_parts, ranks); };
  switch (call.operation) {
    case SCELA_BARRIER:
      return Collective::barrier();
    case SCELA_BCAST:
      return Collective::bcast(output, call.root);
    case SCELA_REDUCE:
      return Collective::reduce(input, output, reducer_of(call), call.root);
    case SCELA_ALLREDUCE:
      return Collective::allreduce(input, output, reducer_of(call));
    case SCELA_GATHER:
      return Collective::gather(input, output, call.root);
    case SCELA_SCATTER:
      return Collective::scatter(input, output, call.root);
    case SCELA_ALLGATHER:
      return Collective::allgather(input, output);
    case SCELA_ALLTOALL:
      return Collective::alltoall(input, output);
    case SCELA_REDUCE_SCATTER_BLOCK:
      return Collective::reduce_scatter_block(input, output, reducer_of(call));
    case SCELA_SCAN:
      return Collective::scan(input, output, reducer_of(call));
    case SCELA_EXSCAN:
      return Collective::exscan(input, output, reducer_of(call));
    case SCELA_GATHERV:
      return Collective::gatherv(input, output, output_parts(), call.root);
    case SCELA_SCATTERV:
      return Collective::scatterv(input, input_parts(), output, call.root);
    case SCELA_ALLGATHERV:
      return Collective::allgatherv(input, output, output_parts());
    case SCELA_ALLTOALLV:
      return Collective::alltoallv(input, input_parts(), output, output_parts());
    case SCELA_REDUCE_SCATTER:
      break;
  }
  return Collective::reduce_scatter(input, output, input_parts(), reducer_of(call));
}

// Calls `use(communicator, operation)` if the arguments can be read.
template <class Use>
scela_code with_operation(scela_communicator* communicator, const scela_collective* call,
                          Use&& use) {
  if (communicator == nullptr) return refuse_null(communicator);
  if (call == nullptr) return refuse(Code::bad_argument, "`collective` is NULL");
  if (call->operation < SCELA_BARRIER || call->operation > SCELA_REDUCE_SCATTER)
    return refuse(Code::bad_argument, "scela_collective: `operation` is none of scela_operation");
  for (const void* const reserved : call->reserved)
    if (reserved != nullptr)
      return refuse(Code::bad_argument, "scela_collective: a reserved member is not NULL");
  return guarded([&] {
    Communicator& ranks = communicator->communicator;
    Collective operation = operation_of(*call, ranks.size());
    if (call->algorithm != nullptr) operation.algorithm(call->algorithm);
    return use(ranks, operation);
  });
}

// Calls `make()`, which makes a communicator, and gives it to the handle. A rank that is in no
// communicator has an empty one without an error of its own.
template <class Make>
scela_code give_communicator(Make&& make, scela_communicator** handle) {
  auto made = std::make_unique<scela_communicator>();
  made->communicator = make();
  const Status& status = made->communicator.status();
  if (!made->communicator)
    return status.code() == Code::bad_communicator ? SCELA_OK : report(status);
  *handle = made.release();
  return SCELA_OK;
}

// Calls `make(communicator)`, which makes another communicator.
template <class Make>
scela_code derive(scela_communicator* communicator, scela_communicator** made, Make&& make) {
  if (made == nullptr) return refuse(Code::bad_argument, "`made` is NULL: where is it to go?");
  *made = nullptr;
  if (communicator == nullptr) return refuse_null(communicator);
  return guarded(
      [&] { return give_communicator([&] { return make(communicator->communicator); }, made); });
}

}  // namespace

scela_code scela_world(scela_channel* channel, const char* const* settings,
                       scela_communicator** communicator) {
  if (communicator == nullptr)
    return refuse(Code::bad_argument, "`communicator` is NULL: where is it to go?");
  *communicator = nullptr;
  if (channel == nullptr)
    return refuse(Code::bad_argument, "the channel is NULL: open it by scela_channel_open()");
  return guarded([&] {
    CommunicatorOptions options;
    for (const char* const* one = settings; one != nullptr && *one != nullptr; ++one)
      if (const Status status = take(options, *one); !status.ok()) return report(status);
    return give_communicator([&] { return Communicator::world(*channel->channel, options); },
                             communicator);
  });
}

int scela_communicator_rank(const scela_communicator* communicator) {
  return communicator == nullptr ? -1 : communicator->communicator.rank();
}
int scela_communicator_size(const scela_communicator* communicator) {
  return communicator == nullptr ? -1 : communicator->communicator.size();
}
int scela_communicator_world_rank(const scela_communicator* communicator, int rank) {
  return communicator == nullptr ? -1 : communicator->communicator.world_rank(rank);
}

scela_code scela_split(scela_communicator* communicator, int color, int key,
                       scela_communicator** made) {
  return derive(communicator, made, [&](Communicator& of) { return of.split(color, key); });
}
scela_code scela_dup(scela_communicator* communicator, scela_communicator** made) {
  return derive(communicator, made, [](Communicator& of) { return of.dup(); });
}
scela_code scela_subgroup(scela_communicator* communicator, const int* ranks, size_t count,
                          scela_communicator** made) {
  // All ranks call it, so a list that is not there is refused as one that names no rank.
  static constexpr int kNoRank = -1;
  const std::span<const int> list = ranks == nullptr && count != 0
                                        ? std::span<const int>(&kNoRank, 1)
                                        : std::span<const int>(ranks, count);
  return derive(communicator, made, [&](Communicator& of) { return of.subgroup(list); });
}
scela_code scela_node_communicator(scela_communicator* communicator, scela_communicator** made) {
  return derive(communicator, made, [](Communicator& of) { return of.node(); });
}
scela_code scela_leaders(scela_communicator* communicator, scela_communicator** made) {
  return derive(communicator, made, [](Communicator& of) { return of.leaders(); });
}
scela_code scela_shrink(scela_communicator* communicator, scela_communicator** made) {
  return derive(communicator, made, [](Communicator& of) { return of.shrink(); });
}

scela_code scela_agree(scela_communicator* communicator, int* flag) {
  if (communicator == nullptr) return refuse_null(communicator);
  if (flag == nullptr) return refuse(Code::bad_argument, "agree: `flag` is NULL");
  return guarded([&] {
    const scela::AgreeResult result = communicator->communicator.agree(*flag != 0);
    if (result.status.ok()) *flag = result.flag ? 1 : 0;
    return report(result.status);
  });
}

void scela_communicator_free(scela_communicator* communicator) {
  const std::unique_ptr<scela_communicator> last(communicator);
  if (communicator == nullptr) return;
  static_cast<void>(guarded([&] {
    communicator->communicator.free();
    return SCELA_OK;
  }));
}

scela_code scela_run(scela_communicator* communicator, const scela_collective* collective) {
  return with_operation(communicator, collective,
                        [](Communicator& ranks, const Collective& operation) {
                          return report(ranks.run(operation));
                        });
}

scela_code scela_start(scela_communicator* communicator, const scela_collective* collective,
                       scela_request** request) {
  if (request == nullptr)
    return refuse(Code::bad_argument, "`request` is NULL: where is it to go?");
  *request = nullptr;
  return with_operation(communicator, collective,
                        [&](Communicator& ranks, const Collective& operation) {
                          *request = new scela_request{ranks.start(operation)};
                          return SCELA_OK;
                        });
}

scela_code scela_prepare(scela_communicator* communicator, const scela_collective* collective,
                         scela_request** request) {
  if (request == nullptr)
    return refuse(Code::bad_argument, "`request` is NULL: where is it to go?");
  *request = nullptr;
  return with_operation(communicator, collective,
                        [&](Communicator& ranks, const Collective& operation) {
                          *request = new scela_request{ranks.prepare(operation)};
                          return SCELA_OK;
                        });
}
