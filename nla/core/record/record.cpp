#include "nla/core/record/record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <optional>
#include <utility>

#include "common/core/text.h"
#include "nla/core/pmix/engine_directory.h"
#include "nla/core/wire/fields.h"

namespace scela::nla {

constexpr Role last_value(Role) {
  return Role::agent;
}
constexpr Timer last_value(Timer) {
  return Timer::slow;
}
constexpr StopCause last_value(StopCause) {
  return StopCause::protocol;
}

// A message is its kind and its payload, as in a frame.
void write_field(FieldWriter& out, const Message& message) {
  const Encoded encoded = encode(message);
  out.bytes().u8(static_cast<std::uint8_t>(message.index() + 1));
  out.bytes().varint(encoded.size() - kFrameHeader);
  out.bytes().raw(std::string_view(encoded.head).substr(kFrameHeader));
  out.bytes().raw(encoded.tail.view());
}

void read_field(FieldReader& in, Message& message) {
  const std::uint8_t kind = in.bytes().u8();
  Result<Message> decoded = decode(Frame{kind, std::string(in.bytes().text())});
  if (decoded) {
    message = *std::move(decoded);
  } else {
    in.bytes().fail();
  }
}

void write_field(FieldWriter& out, const Job& job) {
  out.bytes().text(encode(job));
}

void read_field(FieldReader& in, Job& job) {
  Result<Job> decoded = decode_job(in.bytes().text());
  if (decoded) {
    job = *std::move(decoded);
  } else {
    in.bytes().fail();
  }
}

void write_field(FieldWriter& out, const World& world) {
  out.bytes().text(world.map.size() == 0 ? std::string() : encode(world));
}

void read_field(FieldReader& in, World& world) {
  const std::string_view bytes = in.bytes().text();
  if (bytes.empty()) return;
  Result<World> decoded = decode_world(bytes);
  if (decoded) {
    world = *std::move(decoded);
  } else {
    in.bytes().fail();
  }
}

// Writes one of several structs: its position plus one, then its members.
template <class... Struct>
void write_one_of(FieldWriter& out, const std::variant<Struct...>& value) {
  static_assert(sizeof...(Struct) < 255);
  out.bytes().u8(static_cast<std::uint8_t>(value.index() + 1));
  std::visit([&out](const auto& alternative) { out.all(alternative); }, value);
}

template <class Variant, std::size_t... kIndex>
void read_alternative(FieldReader& in, Variant& value, std::size_t index,
                      std::index_sequence<kIndex...>) {
  ((kIndex == index ? in.all(value.template emplace<kIndex>()) : void()), ...);
}

template <class... Struct>
void read_one_of(FieldReader& in, std::variant<Struct...>& value) {
  const std::size_t kind = in.bytes().u8();
  if (kind == 0 || kind > sizeof...(Struct)) {
    in.bytes().fail();
    return;
  }
  read_alternative(in, value, kind - 1, std::index_sequence_for<Struct...>{});
}

void write_field(FieldWriter& out, const Request& request) {
  write_one_of(out, request);
}
void read_field(FieldReader& in, Request& request) {
  read_one_of(in, request);
}

}  // namespace scela::nla

namespace scela::ask {
auto fields(nla::Is<Response> auto& r) {
  return std::tie(r.ok, r.error, r.found, r.parts, r.disagreement);
}
auto fields(nla::Is<Put> auto& r) {
  return std::tie(r.key, r.value);
}
auto fields(nla::Is<Get> auto& r) {
  return std::tie(r.key, r.wait);
}
auto fields(nla::Is<Collective> auto& r) {
  return std::tie(r.kind, r.set, r.root, r.parts, r.tag);
}
auto fields(nla::Is<Send> auto& r) {
  return std::tie(r.destination, r.tag, r.bytes);
}
auto fields(nla::Is<Receive> auto& r) {
  return std::tie(r.source, r.tag);
}
auto fields(nla::Is<Abort> auto& r) {
  return std::tie(r.code, r.why);
}
auto fields(nla::Is<Violation> auto& r) {
  return std::tie(r.why);
}
auto fields(nla::Is<PutNode> auto& r) {
  return std::tie(r.key, r.value);
}
auto fields(nla::Is<GetNode> auto& r) {
  return std::tie(r.key, r.wait);
}
auto fields(nla::Is<Name> auto& r) {
  return std::tie(r.act, r.name, r.port, r.range);
}
auto fields(nla::Is<Failed> auto&) {
  return std::tie();
}
auto fields(nla::Is<Spawn> auto& r) {
  return std::tie(r.request);
}
}  // namespace scela::ask

namespace scela::nla {

namespace event {
auto fields(Is<Begin> auto& e) {
  return std::tie(e.job_id, e.hosts, e.degree, e.grace_ms, e.settings, e.clock_ns, e.adopt_ms);
}
auto fields(Is<Launch> auto& e) {
  return std::tie(e.job);
}
auto fields(Is<Received> auto& e) {
  return std::tie(e.link, e.message, e.clock_ns);
}
auto fields(Is<LinkEnded> auto& e) {
  return std::tie(e.link, e.why);
}
auto fields(Is<ChildFailed> auto& e) {
  return std::tie(e.link, e.phase, e.why, e.hand_back);
}
auto fields(Is<ChildBegun> auto& e) {
  return std::tie(e.link);
}
auto fields(Is<ChildGone> auto& e) {
  return std::tie(e.link);
}
auto fields(Is<RankStarted> auto& e) {
  return std::tie(e.rank);
}
auto fields(Is<RankNotStarted> auto& e) {
  return std::tie(e.rank, e.error, e.why);
}
auto fields(Is<RanksRefused> auto& e) {
  return std::tie(e.ranks, e.error, e.why);
}
auto fields(Is<RankExited> auto& e) {
  return std::tie(e.rank, e.outcome);
}
auto fields(Is<RankOutput> auto& e) {
  return std::tie(e.rank, e.stream, e.bytes);
}
auto fields(Is<RankStreamEnded> auto& e) {
  return std::tie(e.rank, e.stream);
}
auto fields(Is<NodeEmpty> auto&) {
  return std::tie();
}
auto fields(Is<TimerFired> auto& e) {
  return std::tie(e.timer);
}
auto fields(Is<Asked> auto& e) {
  return std::tie(e.rank, e.id, e.request);
}
auto fields(Is<GuardianLost> auto& e) {
  return std::tie(e.was_told);
}
auto fields(Is<StdinTaken> auto& e) {
  return std::tie(e.bytes);
}
auto fields(Is<StdinClosed> auto& e) {
  return std::tie(e.rank);
}
auto fields(Is<PairUsed> auto& e) {
  return std::tie(e.key);
}
auto fields(Is<SendTrace> auto& e) {
  return std::tie(e.last, e.bytes);
}
auto fields(Is<Say> auto& e) {
  return std::tie(e.record);
}
auto fields(Is<Measured> auto& e) {
  return std::tie(e.sent_bytes, e.private_bytes, e.resident_bytes);
}
auto fields(Is<AddHosts> auto& e) {
  return std::tie(e.hosts);
}
auto fields(Is<Planned> auto& e) {
  return std::tie(e.rank, e.id, e.why, e.world);
}
auto fields(Is<UserSignal> auto& e) {
  return std::tie(e.signo);
}
auto fields(Is<Stop> auto& e) {
  return std::tie(e.cause, e.signo, e.grace_ms);
}
auto fields(Is<StdinRead> auto& e) {
  return std::tie(e.bytes, e.end);
}
auto fields(Is<OutputWritten> auto& e) {
  return std::tie(e.bytes);
}
auto fields(Is<Inspect> auto& e) {
  return std::tie(e.what, e.limit_ms, e.words);
}
auto fields(Is<Inspected> auto& e) {
  return std::tie(e.last, e.bytes);
}
auto fields(Is<NodeDown> auto& e) {
  return std::tie(e.node, e.why);
}
auto fields(Is<WindowChanged> auto& e) {
  return std::tie(e.size);
}
}  // namespace event

namespace action {
auto fields(Is<Send> auto& a) {
  return std::tie(a.link, a.message);
}
auto fields(Is<StartChild> auto& a) {
  return std::tie(a.link, a.node, a.end, a.host, a.attach);
}
auto fields(Is<CloseLink> auto& a) {
  return std::tie(a.link);
}
auto fields(Is<LoseChild> auto& a) {
  return std::tie(a.link);
}
auto fields(Is<KillAgent> auto&) {
  return std::tie();
}
auto fields(Is<StartRanks> auto& a) {
  return std::tie(a.ranks);
}
auto fields(Is<UseJob> auto& a) {
  return std::tie(a.job);
}
auto fields(Is<SignalRanks> auto& a) {
  return std::tie(a.signo);
}
auto fields(Is<EndLeftovers> auto& a) {
  return std::tie(a.force);
}
auto fields(Is<SetTimer> auto& a) {
  return std::tie(a.timer, a.delay_ms);
}
auto fields(Is<CancelTimer> auto& a) {
  return std::tie(a.timer);
}
auto fields(Is<Reply> auto& a) {
  return std::tie(a.rank, a.id, a.response);
}
auto fields(Is<ReadOutput> auto& a) {
  return std::tie(a.bytes);
}
auto fields(Is<DropStreams> auto&) {
  return std::tie();
}
auto fields(Is<WriteStdin> auto& a) {
  return std::tie(a.bytes, a.end);
}
auto fields(Is<ResizeTerminal> auto& a) {
  return std::tie(a.size);
}
auto fields(Is<RanksFailed> auto& a) {
  return std::tie(a.ranks);
}
auto fields(Is<NodesLost> auto& a) {
  return std::tie(a.nodes);
}
auto fields(Is<Reconnected> auto& a) {
  return std::tie(a.ranks);
}
auto fields(Is<AddWorld> auto& a) {
  return std::tie(a.world);
}
auto fields(Is<EndRanks> auto& a) {
  return std::tie(a.ranks);
}
auto fields(Is<Spawn> auto& a) {
  return std::tie(a.rank, a.id, a.request);
}
auto fields(Is<HostsAdded> auto& a) {
  return std::tie(a.nodes);
}
auto fields(Is<WorldLaunched> auto& a) {
  return std::tie(a.ranks, a.why);
}
auto fields(Is<AwaitAdoption> auto& a) {
  return std::tie(a.still);
}
auto fields(Is<Finishing> auto&) {
  return std::tie();
}
auto fields(Is<Finish> auto&) {
  return std::tie();
}
auto fields(Is<NodeFailed> auto& a) {
  return std::tie(a.failure.node, a.failure.phase, a.failure.why);
}
auto fields(Is<AllReady> auto& a) {
  return std::tie(a.agents, a.topologies, a.rendezvous);
}
auto fields(Is<AllLaunched> auto& a) {
  return std::tie(a.ranks);
}
auto fields(Is<ShowOutput> auto& a) {
  return std::tie(a.rank, a.stream, a.end, a.bytes);
}
auto fields(Is<ShowLog> auto& a) {
  return std::tie(a.record);
}
auto fields(Is<FirstFailure> auto& a) {
  return std::tie(a.rank, a.outcome);
}
auto fields(Is<ReadStdin> auto& a) {
  return std::tie(a.bytes);
}
auto fields(Is<TracePiece> auto& a) {
  return std::tie(a.node, a.last, a.bytes);
}
auto fields(Is<InspectRanks> auto& a) {
  return std::tie(a.what, a.limit_ms, a.words);
}
auto fields(Is<Inspected> auto& a) {
  return std::tie(a.node, a.last, a.bytes);
}
auto fields(Is<JobEnded> auto& a) {
  return std::tie(a.verdicts, a.stats);
}
}  // namespace action

namespace {

constexpr std::string_view kRecordMagic = "ScELA-rec";

constexpr std::array kEventNames = std::to_array<std::string_view>(
    {"Begin",       "Launch",        "Received",        "LinkEnded",
     "ChildFailed", "ChildGone",     "RankStarted",     "RankNotStarted",
     "RankExited",  "RankOutput",    "RankStreamEnded", "NodeEmpty",
     "TimerFired",  "Asked",         "GuardianLost",    "StdinTaken",
     "SendTrace",   "Say",           "Measured",        "UserSignal",
     "Stop",        "StdinRead",     "OutputWritten",   "RanksRefused",
     "StdinClosed", "WindowChanged", "ChildBegun",      "Planned",
     "AddHosts",    "PairUsed",      "Inspect",         "Inspected",
     "NodeDown"});
static_assert(kEventNames.size() == std::variant_size_v<EventKinds>);

constexpr std::array kActionNames = std::to_array<std::string_view>(
    {"Send",           "StartChild",   "CloseLink",   "StartRanks",  "UseJob",
     "SignalRanks",    "EndLeftovers", "SetTimer",    "CancelTimer", "Reply",
     "ReadOutput",     "DropStreams",  "WriteStdin",  "Finishing",   "Finish",
     "NodeFailed",     "AllReady",     "AllLaunched", "ShowOutput",  "ShowLog",
     "FirstFailure",   "ReadStdin",    "TracePiece",  "JobEnded",    "AwaitAdoption",
     "ResizeTerminal", "RanksFailed",  "AddWorld",    "EndRanks",    "Spawn",
     "WorldLaunched",  "HostsAdded",   "NodesLost",   "Reconnected", "InspectRanks",
     "Inspected",      "LoseChild",    "KillAgent"});
static_assert(kActionNames.size() == std::variant_size_v<ActionKinds>);

}  // namespace

std::string_view name_of(const Event& event) {
  return kEventNames[event.index()];
}
std::string_view name_of(const Action& action) {
  return kActionNames[action.index()];
}

std::string encode(const Event& event) {
  ByteWriter out;
  FieldWriter writer(out);
  write_one_of(writer, event);
  return out.take();
}

Result<Event> decode_event(ByteReader& in) {
  Event event;
  FieldReader reader(in);
  read_one_of(reader, event);
  if (in.ok()) return event;
  return fail(
      Error{ErrorKind::protocol, "read an event", "", "its bytes are too few or malformed", ""});
}

namespace {

// Overwrites the key in what agents say to each other of engines
// (nla/core/pmix/engine_directory.h).
void hide_key(std::uint32_t tag, Chunk& bytes) {
  const std::size_t space = bytes.view().find(' ');
  if (tag != kEngineTag || space == std::string_view::npos) return;
  bytes = Chunk(std::string(bytes.view().substr(0, space + 1)) +
                std::string(bytes.size() - space - 1, '0'));
}

// Returns the event if it may hold a key, which is overwritten in it.
std::optional<Event> without_key(const Event& event) {
  if (const auto* asked = std::get_if<event::Asked>(&event)) {
    if (const auto* send = std::get_if<ask::Send>(&asked->request);
        send != nullptr && send->tag == kEngineTag) {
      event::Asked changed = *asked;
      hide_key(send->tag, std::get<ask::Send>(changed.request).bytes);
      return changed;
    }
  }
  if (const auto* received = std::get_if<event::Received>(&event)) {
    if (const auto* routed = std::get_if<msg::RoutedMessage>(&received->message);
        routed != nullptr && routed->tag == kEngineTag) {
      event::Received changed = *received;
      hide_key(routed->tag, std::get<msg::RoutedMessage>(changed.message).bytes);
      return changed;
    }
  }
  return std::nullopt;
}

// Returns the action if it may hold a key, which is overwritten in it.
std::optional<Action> without_key(const Action& action) {
  if (const auto* send = std::get_if<action::Send>(&action)) {
    if (const auto* routed = std::get_if<msg::RoutedMessage>(&send->message);
        routed != nullptr && routed->tag == kEngineTag) {
      action::Send changed = *send;
      hide_key(routed->tag, std::get<msg::RoutedMessage>(changed.message).bytes);
      return changed;
    }
  }
  if (const auto* reply = std::get_if<action::Reply>(&action)) {
    const auto& parts = reply->response.parts;
    if (reply->id == kUnasked && parts.size() == 3 &&
        ByteReader(parts[1].view()).varint() == kEngineTag) {
      action::Reply changed = *reply;
      hide_key(kEngineTag, changed.response.parts[2]);
      return changed;
    }
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t digest(const Actions& actions) {
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  for (const Action& action : actions) {
    ByteWriter out;
    FieldWriter writer(out);
    const auto hidden = without_key(action);
    write_one_of(writer, hidden ? *hidden : action);
    XXH64_update(&state, out.bytes().data(), out.size());
  }
  return XXH64_digest(&state);
}

RecordWriter::RecordWriter(Role role) {
  out_.raw(kRecordMagic);
  out_.u16(kRecordVersion);
  out_.u8(static_cast<std::uint8_t>(role));
}

void RecordWriter::add(const Event& event, const Actions& actions) {
  const auto hidden = without_key(event);
  out_.text(encode(hidden ? *hidden : event));
  out_.u64(digest(actions));
}

std::string RecordWriter::take() {
  return std::exchange(out_, ByteWriter{}).take();
}

Result<RecordReader> RecordReader::open(std::string_view log) {
  const auto refused = [](std::string why, std::string hint) {
    return fail(Error{ErrorKind::usage, "read a record of an agent's events", "", std::move(why),
                      std::move(hint)});
  };
  ByteReader in(log);
  if (in.raw(kRecordMagic.size()) != kRecordMagic) {
    return refused("it does not begin as one", "name a file written by scela-run --record");
  }
  const std::uint16_t version = in.u16();
  if (in.ok() && version != kRecordVersion) {
    return refused(cat("its version is ", version, ", this side reads ", kRecordVersion),
                   "replay it with the version of ScELA that wrote it");
  }
  const std::uint8_t role = in.u8();
  if (!in.ok() || role > static_cast<std::uint8_t>(last_value(Role{}))) {
    return refused("its header is damaged", "");
  }
  return RecordReader(static_cast<Role>(role), in);
}

Result<std::optional<RecordReader::Entry>> RecordReader::next() {
  if (in_.rest().empty()) return std::nullopt;
  const std::string_view bytes = in_.text();
  const std::uint64_t digest = in_.u64();
  if (!in_.ok()) {
    cut_short_ = true;
    return std::nullopt;
  }
  ByteReader event_in(bytes);
  Result<Event> event = decode_event(event_in);
  if (!event || !event_in.done()) {
    in_.fail();
    return fail(Error{ErrorKind::protocol, cat("read event ", index_, " of a record"), "",
                      event ? "bytes follow its last field" : event.error().why, ""});
  }
  ++index_;
  return Entry{*std::move(event), digest};
}

}  // namespace scela::nla
