#include "collectives/communicator/group.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/algorithms/scratch.h"
#include "collectives/communicator/call/reductions.h"
#include "collectives/communicator/maker.h"
#include "collectives/communicator/pending_collective.h"
#include "comm-channel/include/inside.h"
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"

namespace scela {

using namespace collectives;

namespace {

BlockSizes cut_into(const BlockSizes& whole, std::uint32_t cut, std::uint64_t unit) {
  return cut == 1 ? whole : BlockSizes::segmented(whole, cut, unit);
}

Layout layout_of(const Arguments& arguments, const ScheduleTemplate& made, int rank) {
  Layout layout;
  layout.spaces[0] = cut_into(arguments.input, made.cut, arguments.unit);
  layout.spaces[1] = cut_into(arguments.output, made.cut, arguments.unit);
  const std::uint32_t scratch = made.plan->list().blocks[2];
  if (scratch == 0) return layout;
  if (made.cut == 1 && arguments.equal) {
    layout.spaces[2] = BlockSizes::equal(scratch, arguments.each);
    return layout;
  }
  const BlockSizes all = cut_into(arguments.all, made.cut, arguments.unit);
  std::vector<std::uint64_t> sizes;
  sizes.reserve(scratch);
  for (std::uint32_t block = 0; block < scratch; ++block)
    sizes.push_back(all.size(like(made.shape, rank, made.cut, block)));
  layout.spaces[2] = BlockSizes::packed(sizes);
  return layout;
}

// Returns the kind of an operation. Ranks with equal calls have the same kind, and it is never 0.
// It is an FNV-1a hash (Fowler, Noll, Vo) of the data that a list is built from, folded to 16 bits.
std::uint16_t kind_of(const Shape& shape, const Algorithm& algorithm) {
  std::uint64_t digest = 0xcbf2'9ce4'8422'2325;
  const auto add = [&](std::uint64_t word) { digest = (digest ^ word) * 0x100'0000'01b3; };
  add(static_cast<std::uint64_t>(shape.operation));
  add(static_cast<std::uint64_t>(has_root(shape.operation) ? shape.root : 0));
  add(shape.segments);
  add(shape.radix);
  for (const char c : algorithm.name)
    add(static_cast<unsigned char>(c));
  const auto folded =
      static_cast<std::uint16_t>(digest ^ digest >> 16 ^ digest >> 32 ^ digest >> 48);
  return folded == 0 ? 1 : folded;
}

// The bits of a tag that hold the kind of its operation, if a transport has enough tags. So
// messages of different kinds do not meet. Ranks that have called different operations then wait
// and find out (word_if_stalled). They do not take another operation's message for the one that
// they expect.
constexpr std::uint32_t kKindBits = 7;
constexpr std::uint32_t kKinds = 1U << kKindBits;

bool is_known_to_root_only(const Collective::Inside& call) {
  return call.has_parts &&
         (call.operation == Operation::gather || call.operation == Operation::scatter);
}

}  // namespace

// The executors are destroyed first, so that their messages are over before another family may have
// the contexts.
Engine::~Engine() {
  executor.reset();
  polled.reset();
  transport.reset();
  if (ended) ended(contexts.life_after());
}

// A request of this engine's communicators that is under way has a PendingCollective behind it.
std::size_t Engine::wait_any(std::span<channel::RequestBody* const> bodies, Timeout timeout) {
  std::vector<Run*> runs(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i)
    if (bodies[i] != nullptr && bodies[i]->mover() == this)
      runs[i] = static_cast<PendingCollective*>(bodies[i])->run_under_way();
  return executor->wait_any(runs, timeout);
}

Communicator::State::State(std::shared_ptr<Engine> whose, ContextNumbers::Number numbered)
    : engine(std::move(whose)), context_number(numbered), context(engine->contexts.id(numbered)) {
  engine->contexts.take(context_number);
}

void Communicator::State::complete() {
  node_count = count_nodes(nodes);
  auto made = std::make_shared<MessageGroup>();
  made->size = static_cast<int>(ranks.size());
  made->own = rank;
  if (engine->channel != nullptr) {
    made->channel = engine->channel;
    made->closed = &channel::Inside::closed(*engine->channel);
    made->ranks = std::make_shared<channel::RankGroup>(ranks, engine->channel->rank(),
                                                       engine->channel->size());
    made->is_whole = made->ranks->is_whole();
    made->context = static_cast<Context>(context) + kContextsOfOne;
  }
  messages = std::move(made);
}

// A child process (fork) leaks the engine, because it has no thread that would end the parent's
// operations.
Communicator::State::~State() {
  if (engine->made_here.is_copy()) {
    static_cast<void>(new std::shared_ptr<Engine>(engine));
    return;
  }
  if (messages != nullptr && messages->ranks != nullptr) messages->ranks->free();
  engine->executor->contexts().forget(context);
  engine->contexts.give_back(context_number);
  if (!engine->close_contexts) return;
  const ContextNumbers::Span unused = engine->contexts.unused_around(context_number);
  engine->close_contexts(unused.first, unused.count);
}

void Communicator::State::leave() {
  is_freed = true;
  if (messages != nullptr && messages->ranks != nullptr) messages->ranks->free();
  if (ranks.size() == 1) return;
  AbortedContext what;
  what.context = context;
  what.rank = ranks[static_cast<std::size_t>(rank)];
  what.refusal = Refusal::freed;
  what.about = About::left;
  what.begun = begun;
  engine->executor->contexts().leave(what, ranks);
}

Status Communicator::State::has_no_memory_for(std::string_view operation,
                                              std::uint64_t number) noexcept try {
  engine->spare.release();
  AbortedContext what;
  what.context = context;
  what.rank = ranks[static_cast<std::size_t>(rank)];
  what.refusal = Refusal::memory;
  what.begun = number;
  engine->executor->contexts().give_up(what, ranks);
  exhausted = error_of(Code::resources, rank,
                       cat(operation, " of ", ranks.size(), " ranks, on rank ", rank, ": ",
                           fault_of(what, rank).words));
  return exhausted;
} catch (const std::bad_alloc&) {
  constexpr char kWords[] =
      "libscela: this rank has no memory for a collective operation, nor to tell the other ranks: "
      "it ends\n";
  static_cast<void>(!::write(STDERR_FILENO, kWords, sizeof kWords - 1));
  std::abort();
}

Request Communicator::State::exhausted_request(std::shared_ptr<State> self) noexcept {
  return exhausted_requests_.add(std::move(self));
}

Request Communicator::State::ExhaustedRequests::add(std::shared_ptr<State> whose) noexcept {
  communicator_ = std::move(whose);
  ++requests_;
  return channel::Inside::request_of(*this);
}

Status Communicator::State::ExhaustedRequests::wait(Timeout) {
  ++waits_;
  return communicator_->exhausted;
}

// The last request may be the last owner of the communicator, which owns this object.
void Communicator::State::ExhaustedRequests::release() {
  if (waits_ > 0) --waits_;
  if (--requests_ > 0) return;
  const std::shared_ptr<State> last = std::move(communicator_);
}

void Communicator::State::start(Run& run, bool waits) {
  try {
    if (waits)
      engine->executor->run(run);
    else
      engine->executor->start(run);
  } catch (const std::bad_alloc&) {
    engine->spare.release();
    if (!run.is_over()) {
      engine->executor->cancel(run, {FaultCode::resources, rank, "there was no memory for it"});
      engine->executor->wait(run);
    }
    throw;
  }
}

Status Communicator::State::choose(const Collective::Inside& call, const Arguments& arguments,
                                   Choice& choice) const {
  const auto refuse = [&](const std::string& why) {
    return error_of(Code::bad_argument, rank,
                    cat(name_of_call(call.operation, call.has_parts), " by rank ", rank, " of ",
                        ranks.size(), ": ", why, "; nothing was sent or received by this rank"));
  };
  Question question;
  question.operation = call.operation;
  question.ranks = static_cast<int>(ranks.size());
  question.nodes = node_count;
  question.bytes = arguments.bytes;
  question.equal = arguments.equal;
  question.commutes = !call.reducer || call.reducer->commutes();
  question.root = call.root;
  Row row;
  row.operation = call.operation;
  if (!call.algorithm.empty()) {
    const auto said = Table::parse(cat(name_of(call.operation), " ", call.algorithm), "the call");
    if (!said) return refuse(said.error().text());
    if (said->rows().size() != 1) return refuse(cat("'", call.algorithm, "' is not one algorithm"));
    row = said->rows().front();
    if (!can(*row.algorithm, question, row.radix))
      return refuse(cat(row.algorithm->name, " cannot do this: ",
                        !question.commutes && !row.algorithm->any_order
                            ? "it changes the order of operands, and they do not commute"
                        : !question.equal && row.algorithm->equal_blocks
                            ? "it needs blocks of one size"
                            : "its radix does not fit"));
  } else if (is_known_to_root_only(call)) {
    row.algorithm = find(call.operation, "flat");
  } else {
    const Row* const found = engine->table.find(question);
    if (found == nullptr) return refuse("no row of the table fits");
    row = *found;
  }
  if (is_known_to_root_only(call) && row.algorithm->name != "flat" &&
      row.algorithm->name != "sequential")
    return refuse(
        cat(row.algorithm->name,
            " passes on blocks whose sizes only the root knows: take flat or sequential"));
  choice = choice_of(row, question);
  return {};
}

const std::shared_ptr<const NodeMap>& Communicator::State::node_map() {
  if (node_map_ == nullptr) node_map_ = std::make_shared<const NodeMap>(nodes);
  return node_map_;
}

const ScheduleTemplate* Communicator::State::schedule_template_of(const Algorithm& algorithm,
                                                                  const Shape& shape,
                                                                  Status& status) {
  const Key key{&algorithm, shape.segments, shape.radix,   shape.split,
                shape.root, shape.in_place, shape.commutes};
  if (const auto found = templates_.find(key); found != templates_.end()) return &found->second;
  ScheduleTemplate made;
  made.algorithm = &algorithm;
  made.shape = shape;
  made.cut = shape.segments * (algorithm.parts == nullptr ? 1 : algorithm.parts(shape));
  auto plan = Plan::of(algorithm.build(shape, rank));
  if (!plan) {
    status = error_of(Code::other, rank, plan.error().text());
    return nullptr;
  }
  made.plan = std::move(*plan);
  ++templates_made;
  return &templates_.emplace(key, std::move(made)).first->second;
}

std::uint32_t collectives::tag_span_of(std::uint32_t tags) {
  const bool has_many = tags >> (kKindBits + 20) != 0;
  return std::max(has_many ? tags / 2 / kKinds : tags / 2, 1U);
}

// A refused call still has a list, unless the list depends on the wrong argument. The other ranks
// are told by the list's messages.
std::shared_ptr<const PreparedCall> Communicator::State::prepare(const Collective::Inside& call) {
  const auto anew = [&] { return std::make_shared<const PreparedCall>(prepare_anew(call)); };
  if (engine->checks || !has_signature(call)) return anew();
  const CallSignature signature(call);
  if (const CachedCall* const known = call_cache_.find(signature, call.algorithm))
    return known->prepared;
  std::shared_ptr<const PreparedCall> prepared = anew();
  if (prepared->status.ok()) call_cache_.keep(signature, call.algorithm, {prepared, {}});
  return prepared;
}

PreparedCall Communicator::State::prepare_anew(const Collective::Inside& call) {
  PreparedCall prepared;
  const Arguments arguments = arguments_of(call, rank, static_cast<int>(ranks.size()));
  prepared.status = arguments.status;
  prepared.refusal = arguments.refusal;
  Choice choice;
  if (arguments.status.ok() || arguments.sure) {
    if (Status wrong = choose(call, arguments, choice); !wrong.ok()) {
      choice.algorithm = nullptr;
      if (prepared.status.ok()) {
        prepared.status = std::move(wrong);
        prepared.refusal = Refusal::algorithm;
      }
    }
  }
  if (choice.algorithm != nullptr) {
    Shape shape;
    shape.operation = call.operation;
    shape.ranks = static_cast<int>(ranks.size());
    shape.root = call.root;
    shape.segments = choice.segments;
    shape.radix = choice.radix;
    shape.split = choice.split;
    if (choice.algorithm->has_nodes) shape.nodes = node_map();
    shape.in_place = arguments.in_place;
    shape.commutes = !call.reducer || call.reducer->commutes();
    prepared.kind = kind_of(shape, *choice.algorithm);
    Status wrong;
    prepared.made = schedule_template_of(*choice.algorithm, shape, wrong);
    if (!wrong.ok() && prepared.status.ok()) {
      prepared.status = std::move(wrong);
      prepared.refusal = Refusal::algorithm;
    }
  }
  if (prepared.made != nullptr) {
    static std::atomic<std::uint64_t> layouts{0};
    prepared.layout_number = layouts.fetch_add(1, std::memory_order_relaxed) + 1;
    prepared.layout = std::make_shared<const Layout>(layout_of(arguments, *prepared.made, rank));
  }
  if (call.reducer && prepared.status.ok())
    prepared.reduction = reduction_of(
        *call.reducer, arguments.in_place ? call.output.type() : call.input.type(), arguments.unit);
  if (engine->checks) check(call, arguments, prepared);
  // If calls are checked, they share tags: calls that differ must hear of each other first.
  if (engine->tag_span < engine->tags / 2 && !prepared.checked)
    prepared.first_tag = (prepared.kind ^ prepared.kind >> kKindBits) % kKinds * engine->tag_span;
  return prepared;
}

void Communicator::State::check(const Collective::Inside& call, Arguments arguments,
                                PreparedCall& prepared) {
  if (checking_ == nullptr) {
    auto plan = Checked::plan(rank, static_cast<int>(ranks.size()));
    if (!plan) {
      prepared.status = error_of(Code::other, rank, plan.error().text());
      return;
    }
    checking_ = std::move(*plan);
  }
  arguments.refusal = prepared.refusal;
  const ScheduleTemplate* const made = prepared.made;
  PairSizes sizes = PairSizes::of(call, arguments, rank, ranks.size());
  const CallRecord record =
      record_of(call, arguments, sizes, rank, made == nullptr ? nullptr : made->algorithm,
                made == nullptr ? Shape{} : made->shape);
  prepared.checked =
      std::make_unique<Checked>(checking_, record, std::move(sizes), rank, ranks.size());
}

// Operations that run once use one half of the tags, in turn. Prepared operations use the other
// half.
std::uint32_t Communicator::State::next_tag() {
  const std::uint32_t tag = next_tag_;
  next_tag_ = tag + 1 < engine->tag_span ? tag + 1 : 0;
  return tag;
}

std::optional<std::uint32_t> Communicator::State::keep_tag() {
  const std::uint32_t once = engine->tags / 2;
  if (kept_tags_ >= engine->tags - once) return std::nullopt;
  return once + kept_tags_++;
}

}  // namespace scela
