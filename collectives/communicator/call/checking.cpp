#include "collectives/communicator/call/checking.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <typeinfo>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/kernels/kernels.h"
#include "common/core/text.h"

namespace scela::collectives {

namespace {

// The constants of FNV-1a (Fowler, Noll, Vo).
constexpr std::uint64_t kNoHash = 0xcbf29ce484222325;
constexpr std::uint64_t kHashFactor = 0x100000001b3;

std::uint64_t hash_of(const BlockSizes& sizes) {
  std::uint64_t hash = kNoHash;
  for (std::uint32_t block = 0; block < sizes.count(); ++block)
    for (std::uint64_t size = sizes.size(block), i = 0; i < 8; ++i, size >>= 8)
      hash = (hash ^ (size & 0xff)) * kHashFactor;
  return hash;
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = kNoHash;
  for (const char letter : text)
    hash = (hash ^ static_cast<unsigned char>(letter)) * kHashFactor;
  return hash;
}

// Records which function it is. Its address differs between processes, but its type and its place
// in its file do not.
void tell_function(const Reducer::Function& function, CallRecord& record) {
  using Plain = void (*)(const std::byte*, const std::byte*, std::byte*, std::size_t);
  const auto* const plain = function.target<Plain>();
  const std::type_info& type = function.target_type();
  const void* const stands =
      plain != nullptr ? reinterpret_cast<const void*>(*plain) : static_cast<const void*>(&type);
  Dl_info where{};
  if (::dladdr(stands, &where) == 0 || where.dli_fname == nullptr) return;
  const std::string_view file(where.dli_fname);
  record.module = hash_of(file.substr(file.rfind('/') + 1)) | 1;
  const auto from_begin =
      reinterpret_cast<std::uintptr_t>(stands) - reinterpret_cast<std::uintptr_t>(where.dli_fbase);
  record.function = plain != nullptr ? from_begin : hash_of(type.name());
}

// Returns the element type of the buffer in which all ranks have elements of one type.
ElementType type_of(const Collective::Inside& call, const Arguments& arguments) {
  const bool in_output = call.operation == Operation::bcast || arguments.in_place ||
                         (call.operation == Operation::scatter && call.input.count() == 0);
  const bool of_input = call.operation == Operation::scatter && arguments.in_place;
  return in_output && !of_input ? call.output.type() : call.input.type();
}

// Returns text for people about one aspect of a rank's call. It is empty if the rank does not know
// it, or accepts any.
using Says = std::string (*)(const CallRecord& record);

std::string operation(const CallRecord& record) {
  return cat("it calls ", name_of_call(record.operation, record.has_parts));
}
std::string root(const CallRecord& record) {
  return has_root(record.operation) ? cat("its root is rank ", record.root) : "";
}
std::string place(const CallRecord& record) {
  if (has_root(record.operation)) return {};
  return record.in_place ? "it is in place" : "it is not in place";
}
std::string reduction(const CallRecord& record) {
  if (!reduces(record.operation)) return {};
  if (record.op == kOwnOp)
    return record.commutes ? "it reduces by an operation of its own that commutes"
                           : "it reduces by an operation of its own that does not commute";
  return cat("it reduces by ", name_of(static_cast<Op>(record.op)));
}
std::string type(const CallRecord& record) {
  if (record.type < ElementType::opaque)
    return cat("its elements are ", name_of(static_cast<Type>(record.type)));
  return reduces(record.operation) ? cat("its elements have ", record.element_bytes, " bytes") : "";
}
std::string bytes(const CallRecord& record) {
  return record.knows_bytes ? cat("it has ", record.bytes, " bytes for each rank") : "";
}
std::string parts(const CallRecord& record) {
  return record.parts == 0 ? "" : cat("its parts are other sizes (", record.parts, ")");
}
std::string function(const CallRecord& record) {
  return record.op == kOwnOp ? cat("it reduces by its own function ", record.function) : "";
}
std::string algorithm(const CallRecord& record) {
  const std::string_view name(record.algorithm, ::strnlen(record.algorithm, 24));
  return cat("it goes by ", name, ", ", record.segments, " segments, radix ", record.radix);
}

constexpr Says kSayings[] = {operation, root, place, reduction, bytes, parts, type, algorithm};

// Compares one aspect of all records. Returns a fault that names the first rank that differs from
// the text that most ranks have.
std::optional<Fault> compare(std::span<const CallRecord> records, Says says) {
  std::vector<std::string> said;
  std::map<std::string_view, std::size_t> count;
  for (const CallRecord& record : records)
    said.push_back(says(record));
  for (const std::string& one : said)
    if (!one.empty()) ++count[one];
  if (count.size() < 2) return std::nullopt;
  std::size_t most = 0;
  while (said[most].empty())
    ++most;
  for (std::size_t rank = most; rank < said.size(); ++rank)
    if (!said[rank].empty() && count[said[rank]] > count[said[most]]) most = rank;
  const auto differs = std::ranges::find_if(
      said, [&](const std::string& one) { return !one.empty() && one != said[most]; });
  const std::size_t others = count[said[most]] - 1;
  Fault fault;
  fault.code = FaultCode::mismatch;
  fault.rank = static_cast<int>(differs - said.begin());
  fault.words = cat("rank ", fault.rank, ": ", *differs, "; rank ", most,
                    others == 0 ? std::string(": ") : cat(" and ", others, " more: "), said[most],
                    ". Ranks must call the same operations in the same order");
  return fault;
}

}  // namespace

CallRecord record_of(const Collective::Inside& call, const Arguments& arguments,
                     const PairSizes& sizes, int rank, const Algorithm* algorithm,
                     const Shape& shape) {
  CallRecord record;
  record.operation = call.operation;
  record.root = call.root;
  record.has_parts = call.has_parts;
  record.refusal = arguments.refusal;
  if (algorithm == nullptr) return record;
  record.in_place = arguments.in_place;
  record.knows_bytes = arguments.equal && arguments.bytes.has_value();
  record.bytes = arguments.each;
  if (!arguments.equal && arguments.bytes) record.parts = hash_of(arguments.all) | 1;
  record.sent = sizes.hash_of_sent(rank);
  record.received = sizes.hash_of_received(rank);
  record.type = type_of(call, arguments);
  record.element_bytes = static_cast<std::uint32_t>(arguments.unit);
  if (call.reducer) {
    record.op = call.reducer->function() ? kOwnOp : static_cast<std::uint8_t>(call.reducer->op());
    record.commutes = call.reducer->commutes();
    if (call.reducer->function() && *call.reducer->function())
      tell_function(*call.reducer->function(), record);
  }
  record.segments = shape.segments;
  record.radix = shape.radix;
  algorithm->name.copy(record.algorithm, sizeof record.algorithm - 1);
  return record;
}

std::optional<Fault> judge(std::span<const CallRecord> records) {
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    if (records[rank].refusal == Refusal::none) continue;
    Fault fault;
    fault.code = FaultCode::mismatch;
    fault.rank = static_cast<int>(rank);
    fault.refusal = records[rank].refusal;
    fault.words = cat("rank ", rank, ": its call of ", name_of(records[rank].operation),
                      " was refused: ", words_of(fault.refusal));
    return fault;
  }
  for (const Says says : kSayings)
    if (std::optional<Fault> fault = compare(records, says)) return fault;
  // Functions are compared only if all are in one file. Programs may have one each, in files of
  // their own.
  const bool of_one_file = std::ranges::all_of(records, [&](const CallRecord& record) {
    return record.module != 0 && record.module == records[0].module;
  });
  return of_one_file ? compare(records, function) : std::nullopt;
}

bool sizes_differ(std::span<const CallRecord> records) {
  std::uint64_t difference = 0;
  for (const CallRecord& record : records)
    difference += record.sent - record.received;
  return difference != 0;
}

Checked::Checked(std::shared_ptr<const Plan> plan, const CallRecord& own, PairSizes sizes, int rank,
                 std::size_t ranks)
    : own_(own),
      own_sizes_(std::move(sizes)),
      rank_(static_cast<std::size_t>(rank)),
      records_(ranks) {
  layout_.spaces[1] = BlockSizes::equal(static_cast<std::uint32_t>(ranks), sizeof(CallRecord));
  layout_.spaces[2] = BlockSizes::equal(plan->list().blocks[2], sizeof(CallRecord));
  prelude_.plan = std::move(plan);
  prelude_.layout = &layout_;
  prelude_.judge = [this] { return collectives::judge(records_); };
  prelude_.next = [this] { return sizes_differ(records_) ? tell_sizes() : nullptr; };
}

const Prelude* Checked::tell_sizes() {
  const std::size_t ranks = records_.size();
  const std::size_t each = PairSizes::words(ranks);
  sizes_.assign(ranks * each, 0);
  own_sizes_.write(std::span(sizes_).subspan(rank_ * each, each));
  const auto bytes = each * sizeof(std::uint64_t);
  sizes_layout_.spaces[1] = BlockSizes::equal(static_cast<std::uint32_t>(ranks), bytes);
  sizes_layout_.spaces[2] = BlockSizes::equal(prelude_.plan->list().blocks[2], bytes);
  sizes_prelude_.plan = prelude_.plan;
  sizes_prelude_.layout = &sizes_layout_;
  sizes_prelude_.records = reinterpret_cast<std::byte*>(sizes_.data());
  sizes_prelude_.judge = [this] { return judge_sizes(sizes_, records_.size()); };
  return &sizes_prelude_;
}

const Prelude* Checked::prelude() {
  records_[rank_] = own_;
  prelude_.records = reinterpret_cast<std::byte*>(records_.data());
  return &prelude_;
}

Result<std::shared_ptr<const Plan>> Checked::plan(int rank, int ranks) {
  Shape shape;
  shape.operation = Operation::allgather;
  shape.ranks = ranks;
  shape.in_place = true;
  return Plan::of(find(Operation::allgather, "standard-exchange")->build(shape, rank));
}

}  // namespace scela::collectives
