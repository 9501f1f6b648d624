#include "nla/core/wire/agent_messages.h"

#include <array>
#include <type_traits>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "nla/core/wire/fields.h"

namespace scela::nla {

Message::Message() = default;
Message::Message(const Message& other) = default;
Message::Message(Message&& other) noexcept = default;
Message& Message::operator=(const Message& other) = default;
Message& Message::operator=(Message&& other) noexcept = default;
Message::~Message() = default;

namespace msg {

// These functions list the fields of every message as they are written, in the order of
// agent_messages.h.
auto fields(Is<Start> auto& m) {
  return std::tie(m.version, m.job_id, m.slice, m.nodes, m.degree, m.output_window, m.clock_ns,
                  m.grace_ms, m.settings, m.parent, m.adopt_ms);
}
auto fields(Is<SliceHosts> auto& m) {
  return std::tie(m.last, m.names);
}
auto fields(Is<JobBytes> auto& m) {
  return std::tie(m.last, m.bytes);
}
auto fields(Is<Signal> auto& m) {
  return std::tie(m.signo);
}
auto fields(Is<Terminate> auto& m) {
  return std::tie(m.signo, m.grace_ms);
}
auto fields(Is<Shutdown> auto&) {
  return std::tie();
}
auto fields(Is<CollectiveDown> auto& m) {
  return std::tie(m.id, m.kind, m.root, m.last, m.missing, m.mismatch, m.packed, m.clock,
                  m.records);
}
auto fields(Is<Answer> auto& m) {
  return std::tie(m.key, m.wait, m.found, m.lost, m.value);
}
auto fields(Is<Stdin> auto& m) {
  return std::tie(m.end, m.bytes);
}
auto fields(Is<Credit> auto& m) {
  return std::tie(m.bytes, m.past);
}
auto fields(Is<Hello> auto& m) {
  return std::tie(m.version, m.node, m.parent_clock_ns, m.clock_ns, m.topology, m.rendezvous);
}
auto fields(Is<NodeFailed> auto& m) {
  return std::tie(m.node, m.phase, m.why);
}
auto fields(Is<Ready> auto& m) {
  return std::tie(m.agents, m.topologies, m.rendezvous);
}
auto fields(Is<Launched> auto& m) {
  return std::tie(m.ranks);
}
auto fields(Is<ProcessFail> auto& m) {
  return std::tie(m.rank, m.outcome);
}
auto fields(Is<Verdicts> auto& m) {
  return std::tie(m.groups);
}
auto fields(Is<Done> auto& m) {
  return std::tie(m.stats);
}
auto fields(Is<CollectiveUp> auto& m) {
  return std::tie(m.id, m.kind, m.root, m.last, m.missing, m.mismatch, m.packed, m.clock,
                  m.records);
}
auto fields(Is<Get> auto& m) {
  return std::tie(m.key, m.wait);
}
auto fields(Is<Put> auto& m) {
  return std::tie(m.key, m.value);
}
auto fields(Is<Output> auto& m) {
  return std::tie(m.rank, m.stream, m.end, m.bytes);
}
auto fields(Is<StdinTaken> auto& m) {
  return std::tie(m.bytes, m.last);
}
auto fields(Is<Log> auto& m) {
  return std::tie(m.record, m.node);
}
auto fields(Is<Report> auto& m) {
  return std::tie(m.node, m.last, m.bytes);
}
auto fields(Is<RoutedMessage> auto& m) {
  return std::tie(m.source, m.destination, m.tag, m.total, m.offset, m.bytes);
}
auto fields(Is<HandBack> auto& m) {
  return std::tie(m.slice);
}
auto fields(Is<PeersFailed> auto& m) {
  return std::tie(m.ranks);
}
auto fields(Is<Seen> auto& m) {
  return std::tie(m.rank, m.stream, m.bytes, m.end);
}
auto fields(Is<Adopt> auto& m) {
  return std::tie(m.version, m.job_id, m.parent, m.slice, m.output_window, m.seen, m.last);
}
auto fields(Is<Orphan> auto& m) {
  return std::tie(m.slice, m.agents, m.input_received, m.input_taken, m.input_last, m.input_end,
                  m.worlds);
}
auto fields(Is<Below> auto& m) {
  return std::tie(m.slices);
}
auto fields(Is<CutOff> auto& m) {
  return std::tie(m.ranks, m.now);
}
auto fields(Is<NodesLost> auto& m) {
  return std::tie(m.nodes);
}
auto fields(Is<Resize> auto& m) {
  return std::tie(m.size);
}
auto fields(Is<NameAsked> auto& m) {
  return std::tie(m.rank, m.id, m.act, m.name, m.port, m.range);
}
auto fields(Is<NameAnswer> auto& m) {
  return std::tie(m.rank, m.id, m.ok, m.text);
}
auto fields(Is<Pairs> auto& m) {
  return std::tie(m.pairs);
}
auto fields(Is<SpawnAsked> auto& m) {
  return std::tie(m.rank, m.id, m.request);
}
auto fields(Is<SpawnAnswer> auto& m) {
  return std::tie(m.rank, m.id, m.ok, m.text, m.codes);
}
auto fields(Is<WorldBytes> auto& m) {
  return std::tie(m.last, m.bytes);
}
auto fields(Is<WorldLaunched> auto& m) {
  return std::tie(m.world, m.started, m.error, m.why);
}
auto fields(Is<EndRanks> auto& m) {
  return std::tie(m.ranks);
}
auto fields(Is<Inspect> auto& m) {
  return std::tie(m.what, m.limit_ms, m.words);
}
auto fields(Is<Inspected> auto& m) {
  return std::tie(m.node, m.last, m.bytes);
}
auto fields(Is<NodeDown> auto& m) {
  return std::tie(m.node, m.why);
}

}  // namespace msg

namespace {

constexpr std::array<std::string_view, std::variant_size_v<MessageKinds>> kMessageNames = {
    "Start",       "SliceHosts",     "JobBytes",     "Signal",        "Terminate",
    "Shutdown",    "CollectiveDown", "Answer",       "Stdin",         "Credit",
    "Hello",       "NodeFailed",     "Ready",        "Launched",      "ProcessFail",
    "Verdicts",    "Done",           "CollectiveUp", "Get",           "Put",
    "Output",      "StdinTaken",     "Log",          "Report",        "RoutedMessage",
    "PeersFailed", "HandBack",       "Adopt",        "Orphan",        "Below",
    "CutOff",      "Resize",         "NameAsked",    "NameAnswer",    "Pairs",
    "SpawnAsked",  "SpawnAnswer",    "WorldBytes",   "WorldLaunched", "EndRanks",
    "NodesLost",   "Inspect",        "Inspected",    "NodeDown"};

// Returns false if the fields together have an impossible value. A slice that ends before it starts
// would have billions of nodes.
template <class M>
bool sane(const M&) {
  return true;
}
bool sane(const msg::Start& start) {
  return start.slice.first <= start.slice.end;
}

template <std::size_t kIndex>
Result<Message> decode_as(const Chunk& payload) {
  Message message(std::in_place_index<kIndex>);
  auto& fields = std::get<kIndex>(message);
  ByteReader in(payload.view());
  FieldReader(in, payload).all(fields);
  const auto broken = [](std::string why) {
    return fail(Error{ErrorKind::protocol, cat("read a ", kMessageNames[kIndex], " message"), "",
                      std::move(why), ""});
  };
  if (!in.ok()) return broken(cat("its ", payload.size(), " bytes are too few or malformed"));
  if (!in.done()) return broken(cat(in.rest().size(), " bytes follow its last field"));
  if (!sane(fields)) return broken("a field has an impossible value");
  return message;
}

using Decoder = Result<Message> (*)(const Chunk& payload);

template <std::size_t... kIndex>
constexpr auto decoders(std::index_sequence<kIndex...>) {
  return std::array<Decoder, sizeof...(kIndex)>{&decode_as<kIndex>...};
}

constexpr auto kDecoders = decoders(std::make_index_sequence<std::variant_size_v<MessageKinds>>{});

}  // namespace

std::string_view name_of(StartPhase phase) {
  switch (phase) {
    case StartPhase::resolve:
      return "resolve the name";
    case StartPhase::connect:
      return "connect";
    case StartPhase::host_key:
      return "check the host key";
    case StartPhase::authenticate:
      return "authenticate";
    case StartPhase::start_agent:
      return "start agent";
    case StartPhase::hello:
      return "hello";
    case StartPhase::running:
      return "running";
  }
  return "unknown";
}

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::barrier:
      return "barrier";
    case CollectiveKind::fence:
      return "fence";
    case CollectiveKind::gather:
      return "gather";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::allgather:
      return "allgather";
    case CollectiveKind::scatter:
      return "scatter";
    case CollectiveKind::alltoall:
      return "alltoall";
  }
  return "unknown";
}

std::string_view name_of(const Message& message) {
  return kMessageNames[message.index()];
}

Encoded encode(const Message& message) {
  ByteWriter fields;
  Encoded out;
  std::visit([&](const auto& m) { FieldWriter(fields, out.tail).all(m); }, message);
  out.head =
      frame_header(static_cast<std::uint8_t>(message.index() + 1), fields.size() + out.tail.size());
  out.head += fields.bytes();
  return out;
}

Result<Message> decode(Frame frame) {
  if (frame.kind == 0 || frame.kind > kDecoders.size()) {
    return fail(Error{ErrorKind::protocol, "read a message", "",
                      cat("its kind is ", static_cast<unsigned>(frame.kind),
                          ", this side knows 1 to ", kDecoders.size()),
                      ""});
  }
  return kDecoders[frame.kind - 1u](Chunk(std::move(frame.payload)));
}

}  // namespace scela::nla
