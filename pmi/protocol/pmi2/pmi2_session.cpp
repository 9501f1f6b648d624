#include "pmi/protocol/pmi2/pmi2_session.h"

#include <algorithm>
#include <utility>

#include "common/core/text.h"
#include "pmi/protocol/keyval.h"
#include "pmi/protocol/limits.h"
#include "pmi/protocol/pmi2/pmi2_spawn.h"

namespace scela::pmi {

namespace {

// The largest size of an error text or an unknown command's name, in bytes. Clients read values of
// 1,024 bytes.
constexpr std::size_t kMaxText = 512;

// Begins a response, which repeats the command and the thread's id (thrid).
Pmi2Writer response(std::string_view command, const std::optional<std::string>& thrid) {
  Pmi2Writer out(cat(command, "-response"));
  if (thrid) out.add("thrid", *thrid);
  return out;
}

std::optional<std::string> thrid_of(const Pmi2Message& message) {
  const auto thrid = message.find("thrid");
  if (!thrid) return std::nullopt;
  return std::string(*thrid);
}

Pmi2Writer response(const Pmi2Message& message) {
  return response(message.command().substr(0, kMaxText), thrid_of(message));
}

void add_code(Pmi2Writer& out, Pmi2Code code, std::string_view why = {}) {
  out.add("rc", static_cast<int>(code));
  if (code == Pmi2Code::success) return;
  std::string text(why.substr(0, kMaxText));
  std::replace(text.begin(), text.end(), '\0', ' ');
  out.add("errmsg", text);
}

void add_found(Pmi2Writer& out, bool found, std::string_view value) {
  add_code(out, Pmi2Code::success);
  out.add("found", found ? "TRUE" : "FALSE");
  if (found) out.add("value", value);
}

// A rank's part in a ring. Zero bytes separate the three fields in the exchange, because messages
// hold no zero byte.
struct RingWords {
  long long count = 0;
  std::string_view left;
  std::string_view right;
};

RingWords parse_ring(std::string_view bytes) {
  RingWords words;
  const std::size_t first = bytes.find('\0');
  const std::size_t second = first == std::string_view::npos ? first : bytes.find('\0', first + 1);
  if (second == std::string_view::npos) return words;
  words.count = parse_int(bytes.substr(0, first)).value_or(0);
  words.left = bytes.substr(first + 1, second - first - 1);
  words.right = bytes.substr(second + 1);
  return words;
}

}  // namespace

const Pmi2Session::Command Pmi2Session::kCommands[] = {
    {"finalize", &Pmi2Session::finalize},
    {"job-getid", &Pmi2Session::job_getid},
    {"job-connect", &Pmi2Session::refuse_all},
    {"job-disconnect", &Pmi2Session::refuse_all},
    {"kvs-put", &Pmi2Session::kvs_put},
    {"kvs-get", &Pmi2Session::kvs_get},
    {"kvs-fence", &Pmi2Session::kvs_fence},
    {"info-putnodeattr", &Pmi2Session::put_node_attribute},
    {"info-getnodeattr", &Pmi2Session::get_node_attribute},
    {"info-getjobattr", &Pmi2Session::get_job_attribute},
    {"name-publish", &Pmi2Session::name_publish},
    {"name-lookup", &Pmi2Session::name_lookup},
    {"name-unpublish", &Pmi2Session::name_unpublish},
    {"ring", &Pmi2Session::ring},
    {"scela-segment", &Pmi2Session::segment},
    {"scela-ring", &Pmi2Session::memory_ring},
    {"scela-left", &Pmi2Session::left},
    {"spawn", &Pmi2Session::spawn},
};

Pmi2Session::Pmi2Session(JobFacts facts) : facts_(std::move(facts)) {}

// The next functions read messages.

void Pmi2Session::receive(std::string_view bytes) {
  if (state_ == State::over) return;
  // Served bytes are removed before the buffer grows, so that it holds only unserved bytes.
  input_.erase(0, consumed_);
  looked_through_ -= std::min(looked_through_, consumed_);
  consumed_ = 0;
  input_.append(bytes);
}

std::optional<SessionRequest> Pmi2Session::next() {
  while (state_ != State::over) {
    if (!read_head()) {
      if (!unreadable_.empty()) return violation(unreadable_);
      return std::nullopt;
    }
    if (head_waits()) {
      if (Served aborted = queued_abort()) return aborted;
      if (input_.size() - consumed_ <= kMaxBacklog) return std::nullopt;
      return violation(cat("sent more than ", kMaxBacklog, " bytes without waiting for an answer"));
    }
    const Pmi2Message message = std::move(*head_);
    head_.reset();
    if (Served request = serve(message)) return request;
  }
  return std::nullopt;
}

// Returns true if head_ holds the next message.
bool Pmi2Session::read_head() {
  if (head_) return true;
  const std::string_view rest = std::string_view(input_).substr(consumed_);
  if (rest.size() < kLengthField) return false;
  const std::string_view field = rest.substr(0, kLengthField);
  const auto length = parse_length(field);
  if (!length) {
    unreadable_ = cat("sent \"", excerpt(field), "\" where the length of a message is expected");
    return false;
  }
  if (*length > kMaxMessage) {
    unreadable_ = cat("sent a message of ", *length, " bytes, more than ", kMaxMessage);
    return false;
  }
  if (rest.size() < kLengthField + *length) return false;
  const std::string_view payload = rest.substr(kLengthField, *length);
  Result<Pmi2Message> message = parse_message(payload);
  if (!message) {
    unreadable_ = cat("sent a malformed message \"", excerpt(payload), "\": ", message.error().why);
    return false;
  }
  head_ = *std::move(message);
  consumed_ += kLengthField + *length;
  return true;
}

// Returns true if the thread that sent the next message has an unanswered request, or if too many
// requests are unanswered.
bool Pmi2Session::head_waits() const {
  if (in_flight_.empty() || head_->command() == "abort") return false;
  if (in_flight_.size() >= kMaxInFlight) return true;
  const auto thrid = thrid_of(*head_);
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [&](const InFlight& one) { return one.thrid == thrid; });
}

// Another thread of the rank may abort while others wait, perhaps for ever. An abort is therefore
// served before the outstanding answers; no other message is served out of order.
Pmi2Session::Served Pmi2Session::queued_abort() {
  looked_through_ = std::max(looked_through_, consumed_);
  for (;;) {
    const std::string_view rest = std::string_view(input_).substr(looked_through_);
    if (rest.size() < kLengthField) return std::nullopt;
    const auto length = parse_length(rest.substr(0, kLengthField));
    if (!length || *length > kMaxMessage || rest.size() < kLengthField + *length) {
      return std::nullopt;  // read_head() reports it later
    }
    looked_through_ += kLengthField + *length;
    const std::string_view payload = rest.substr(kLengthField, *length);
    if (!payload.starts_with("cmd=abort;")) continue;
    const Result<Pmi2Message> message = parse_message(payload);
    if (message) return abort(*message);
  }
}

Pmi2Session::Served Pmi2Session::serve(const Pmi2Message& message) {
  const std::string_view name = message.command();
  if (name == "abort") return abort(message);
  if (state_ == State::start && name == "fullinit") return fullinit(message);
  if (state_ != State::ready || name == "fullinit") {
    const std::string_view when = state_ == State::start       ? "before fullinit"
                                  : state_ == State::finalized ? "after finalize"
                                                               : "a second time";
    refuse(message, Pmi2Code::other, cat(name, " was sent ", when));
    return violation(cat("sent ", excerpt(name), " ", when));
  }
  for (const Command& command : kCommands) {
    if (command.name == name) return (this->*command.serve)(message);
  }
  return refuse(message, Pmi2Code::other, "unknown command");
}

// The next functions begin and end the session.

Pmi2Session::Served Pmi2Session::fullinit(const Pmi2Message& message) {
  const auto rank = message.find("pmirank");
  if (rank && parse_int(*rank) != static_cast<int>(facts_.rank)) {
    return refuse(message, Pmi2Code::invalid_argument,
                  cat("this is the connection of rank ", facts_.rank));
  }
  state_ = State::ready;
  Pmi2Writer out = response(message);
  add_code(out, Pmi2Code::success);
  if (!facts_.spawner.empty()) out.add("spawner-jobid", facts_.spawner);
  return reply(out.add("pmi-version", 2)
                   .add("pmi-subversion", 0)
                   .add("rank", facts_.rank)
                   .add("size", facts_.size)
                   .add("appnum", facts_.appnum)
                   .add("debugged", "FALSE")
                   .add("pmiverbose", "FALSE"));
}

Pmi2Session::Served Pmi2Session::finalize(const Pmi2Message& message) {
  if (!in_flight_.empty()) {
    return refuse(message, Pmi2Code::other, "other requests have not been answered yet");
  }
  state_ = State::finalized;
  finalized_ = true;
  Pmi2Writer out = response(message);
  add_code(out, Pmi2Code::success);
  return reply(out);
}

// Slurm's client sends isworld, and ends by itself if it is FALSE. MPICH's client means all ranks.
Pmi2Session::Served Pmi2Session::abort(const Pmi2Message& message) {
  state_ = State::over;
  if (message.find("isworld").value_or("TRUE") == "FALSE") return std::nullopt;
  const auto text = message.find("msg").value_or(message.find("message").value_or(""));
  const int code = parse_int(message.find("exitcode").value_or("")).value_or(1);
  return ask::Abort{code, std::string(text)};
}

Pmi2Session::Served Pmi2Session::job_getid(const Pmi2Message& message) {
  Pmi2Writer out = response(message);
  add_code(out, Pmi2Code::success);
  return reply(out.add("jobid", facts_.kvsname));
}

Pmi2Session::Served Pmi2Session::refuse_all(const Pmi2Message& message) {
  return refuse(message, Pmi2Code::other, "not supported");
}

// The next functions serve pairs.

Pmi2Session::Served Pmi2Session::kvs_put(const Pmi2Message& message) {
  if (!has(message, "key", kMaxPmi2Key, Pmi2Code::invalid_key_length) ||
      !has(message, "value", kMaxPmi2Value, Pmi2Code::invalid_value_length)) {
    return std::nullopt;
  }
  const std::string_view key = *message.find("key");
  if (key.starts_with(kReservedPrefix)) {
    return refuse(message, Pmi2Code::invalid_argument, "keys that begin with PMI_ are reserved");
  }
  return ask_job(message, Kind::done,
                 ask::Put{key_in_job(facts_, key), Chunk(std::string(*message.find("value")))});
}

// srcid, the rank that has put the pair, is a hint for caches that must search. It is not needed
// here, since every cache knows which node to ask. It must still be a rank, or negative for any.
Pmi2Session::Served Pmi2Session::kvs_get(const Pmi2Message& message) {
  if (!has(message, "key", kMaxPmi2Key, Pmi2Code::invalid_key_length)) return std::nullopt;
  const auto job = message.find("jobid").value_or("");
  if (!job.empty() && job != facts_.kvsname) {
    return refuse(message, Pmi2Code::invalid_argument, "there is no such job");
  }
  const auto source = parse_int(message.find("srcid").value_or("-1"));
  if (!source || *source >= static_cast<std::int64_t>(facts_.size)) {
    return refuse(message, Pmi2Code::invalid_argument, "srcid is no rank of the job");
  }
  const std::string_view key = *message.find("key");
  if (key.starts_with(kReservedPrefix)) return get_job_attribute(message);
  return ask_job(message, Kind::get, ask::Get{key_in_job(facts_, key)});
}

Pmi2Session::Served Pmi2Session::segment(const Pmi2Message& message) {
  return ask_job(message, Kind::done, SegmentRequest{});
}

Pmi2Session::Served Pmi2Session::memory_ring(const Pmi2Message& message) {
  return ask_job(message, Kind::done, RingRequest{});
}

Pmi2Session::Served Pmi2Session::left(const Pmi2Message& message) {
  const auto rank = parse_int(message.find("rank").value_or(""));
  if (!rank || *rank < 0 || *rank >= static_cast<std::int64_t>(facts_.size))
    return refuse(message, Pmi2Code::invalid_argument, "there is no such rank");
  return ask_job(message, Kind::get, LeftRequest{facts_.first_rank + static_cast<Rank>(*rank)});
}

Pmi2Session::Served Pmi2Session::kvs_fence(const Pmi2Message& message) {
  if (under_way(Kind::fence)) {
    return refuse(message, Pmi2Code::other, "this rank is in a fence already");
  }
  return ask_job(message, Kind::fence,
                 ask::Collective{ask::CollectiveKind::fence, world_in_job(facts_)});
}

// The next functions serve attributes of the node and of the job.

Pmi2Session::Served Pmi2Session::put_node_attribute(const Pmi2Message& message) {
  if (!has(message, "key", kMaxPmi2Key, Pmi2Code::invalid_key_length) ||
      !has(message, "value", kMaxPmi2Value, Pmi2Code::invalid_value_length)) {
    return std::nullopt;
  }
  return ask_job(
      message, Kind::done,
      ask::PutNode{key_in_job(facts_, *message.find("key")), std::string(*message.find("value"))});
}

Pmi2Session::Served Pmi2Session::get_node_attribute(const Pmi2Message& message) {
  if (!has(message, "key", kMaxPmi2Key, Pmi2Code::invalid_key_length)) return std::nullopt;
  const bool wait = message.find("wait") == "TRUE";
  return ask_job(message, Kind::get, ask::GetNode{key_in_job(facts_, *message.find("key")), wait});
}

Pmi2Session::Served Pmi2Session::get_job_attribute(const Pmi2Message& message) {
  if (!has(message, "key", kMaxPmi2Key, Pmi2Code::invalid_key_length)) return std::nullopt;
  const std::string_view key = *message.find("key");
  if (key == "PMI_dead_processes") return ask_job(message, Kind::failed, ask::Failed{});
  const auto value = job_attribute(facts_, key);
  Pmi2Writer out = response(message);
  add_found(out, value.has_value(), value.value_or(""));
  return reply(out);
}

// The next functions serve names that ranks publish.

bool Pmi2Session::has_name(const Pmi2Message& message) {
  return has(message, "name", kMaxPmi2Value, Pmi2Code::invalid_value_length);
}

Pmi2Session::Served Pmi2Session::name_publish(const Pmi2Message& message) {
  if (!has_name(message) || !has(message, "port", kMaxPmi2Value, Pmi2Code::invalid_value_length)) {
    return std::nullopt;
  }
  return ask_job(message, Kind::done,
                 ask::Name{ask::NameAct::publish, std::string(*message.find("name")),
                           std::string(*message.find("port"))});
}

Pmi2Session::Served Pmi2Session::name_lookup(const Pmi2Message& message) {
  if (!has_name(message)) return std::nullopt;
  return ask_job(message, Kind::lookup,
                 ask::Name{ask::NameAct::lookup, std::string(*message.find("name"))});
}

Pmi2Session::Served Pmi2Session::name_unpublish(const Pmi2Message& message) {
  if (!has_name(message)) return std::nullopt;
  return ask_job(message, Kind::done,
                 ask::Name{ask::NameAct::unpublish, std::string(*message.find("name"))});
}

// The ring of Slurm and MVAPICH (PMIX_Ring). Each rank gives a count and a value for each of its
// neighbours. It receives the sum of the counts before it and its neighbours' values. The ring is
// in rank order. Source: SchedMD/slurm src/plugins/mpi/pmi2/ring.c.
Pmi2Session::Served Pmi2Session::ring(const Pmi2Message& message) {
  for (const std::string_view key : {"ring-left", "ring-right"}) {
    if (!has(message, key, kMaxPmi2Value, Pmi2Code::invalid_value_length)) return std::nullopt;
  }
  const auto count = parse_int(message.find("ring-count").value_or(""));
  if (!count || *count < 0) {
    return refuse(message, Pmi2Code::invalid_argument, "ring-count is no number");
  }
  if (under_way(Kind::exchange)) {
    return refuse(message, Pmi2Code::other, "this rank is in a ring already");
  }
  ask::Collective exchange{
      .kind = ask::CollectiveKind::allgather, .set = world_in_job(facts_), .tag = kExchangeTag};
  exchange.parts.emplace_back(
      cat(*count, '\0', *message.find("ring-left"), '\0', *message.find("ring-right")));
  return ask_job(message, Kind::exchange, std::move(exchange));
}

void Pmi2Session::answer_exchange(Pmi2Writer& out, const ask::Response& answer) const {
  const std::size_t size = answer.parts.size();
  if (facts_.rank >= size) return add_code(out, Pmi2Code::other, "the ring is incomplete");
  long long before = 0;
  for (std::size_t rank = 0; rank < facts_.rank; ++rank)
    before += parse_ring(answer.parts[rank].view()).count;
  add_code(out, Pmi2Code::success);
  out.add("ring-count", before)
      .add("ring-left", parse_ring(answer.parts[(facts_.rank + size - 1) % size].view()).right)
      .add("ring-right", parse_ring(answer.parts[(facts_.rank + 1) % size].view()).left);
}

// The next functions serve spawn requests.

// A refusal has no jobid: Slurm's client does not check rc here, but fails without a jobid.
Pmi2Session::Served Pmi2Session::spawn(const Pmi2Message& message) {
  ask::SpawnRequest request;
  const std::string wrong = read_spawn(message, request);
  if (!wrong.empty()) return refuse(message, Pmi2Code::invalid_argument, wrong);
  std::uint64_t ranks = 0;
  for (const ask::SpawnProgram& program : request.programs)
    ranks += program.ranks;
  for (const auto& [key, value] : request.preput) {
    if (key.empty() || key.size() > kMaxPmi2Key) {
      return refuse(message, Pmi2Code::invalid_key_length, "a preput key is empty or too long");
    }
    if (value.size() > kMaxPmi2Value) {
      return refuse(message, Pmi2Code::invalid_value_length, "a preput value is too long");
    }
  }
  Served asked = ask_job(message, Kind::spawn, ask::Spawn{std::move(request)});
  in_flight_.back().ranks = ranks;
  return asked;
}

void Pmi2Session::answer_spawn(Pmi2Writer& out, std::uint64_t ranks, const ask::Response& answer) {
  if (answer.ok) {
    add_code(out, Pmi2Code::success);
    out.add("jobid", answer.value());
  } else {
    add_code(out, Pmi2Code::other, answer.error);
  }
  const std::string codes = answer.ok ? zeros(ranks, kMaxText) : std::string(answer.value());
  if (!codes.empty() && codes.size() <= kMaxText) out.add("errcodes", codes);
}

// The next functions send answers to the client.

void Pmi2Session::answer(ask::RequestId number, const ask::Response& answer) {
  if (state_ == State::over) return;
  const auto at = std::find_if(in_flight_.begin(), in_flight_.end(),
                               [&](const InFlight& one) { return one.number == number; });
  if (at == in_flight_.end()) return;
  const InFlight request = std::move(*at);
  in_flight_.erase(at);
  Pmi2Writer out = response(request.command, request.thrid);
  if (!answer.ok && request.kind != Kind::spawn) {
    add_code(out, Pmi2Code::other, answer.error);
    reply(out);
    return;
  }
  switch (request.kind) {
    case Kind::done:
    case Kind::fence:
      add_code(out, Pmi2Code::success);
      break;
    case Kind::get:
      add_found(out, answer.found, answer.value());
      break;
    case Kind::failed:
      add_found(out, answer.value().size() <= kMaxValue, answer.value());
      break;
    case Kind::lookup:  // Slurm's client reads value, MPICH's port
      add_code(out, Pmi2Code::success);
      out.add("value", answer.value()).add("port", answer.value());
      break;
    case Kind::exchange:
      answer_exchange(out, answer);
      break;
    case Kind::spawn:
      answer_spawn(out, request.ranks, answer);
      break;
  }
  reply(out);
}

std::string Pmi2Session::take_output() {
  return std::exchange(output_, {});
}

bool Pmi2Session::under_way(Kind kind) const {
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [&](const InFlight& one) { return one.kind == kind; });
}

bool Pmi2Session::has(const Pmi2Message& message, std::string_view key, std::size_t most,
                      Pmi2Code too_long) {
  const auto value = message.find(key);
  // A pair's value may be empty, but its key or name may not.
  if (!value || (value->empty() && (key == "key" || key == "name"))) {
    refuse(message, Pmi2Code::invalid_argument, cat(key, " is missing"));
    return false;
  }
  if (value->size() <= most) return true;
  refuse(message, too_long, cat(key, " is longer than ", most, " bytes"));
  return false;
}

Pmi2Session::Served Pmi2Session::reply(const Pmi2Writer& message) {
  output_ += message.text();
  return std::nullopt;
}

Pmi2Session::Served Pmi2Session::refuse(const Pmi2Message& message, Pmi2Code code,
                                        std::string_view why) {
  Pmi2Writer out = response(message);
  add_code(out, code, why);
  return reply(out);
}

Pmi2Session::Served Pmi2Session::violation(std::string_view why) {
  state_ = State::over;
  return ask::Violation{cat("PMI-2: the rank ", why)};
}

Pmi2Session::Served Pmi2Session::ask_job(const Pmi2Message& message, Kind kind,
                                         SessionRequest request) {
  in_flight_.push_back({++asked_, kind, std::string(message.command()), thrid_of(message), 0});
  return request;
}

}  // namespace scela::pmi
