#include "pmix/core/pmix_messages.h"

#include <tuple>
#include <type_traits>
#include <utility>

#include "common/core/bytes.h"
#include "common/core/text.h"

namespace scela::pmix {

Message::Message() = default;
Message::Message(const Message& other) = default;
Message::Message(Message&& other) noexcept = default;
Message& Message::operator=(const Message& other) = default;
Message& Message::operator=(Message&& other) noexcept = default;
Message::~Message() = default;

namespace {

template <class T, class Struct>
concept Is = std::same_as<std::remove_cv_t<T>, Struct>;

auto fields(Is<RankMap::Block> auto& block) {
  return std::tie(block.first_node, block.nodes, block.ranks_per_node);
}
auto fields(Is<msg::Setup> auto& m) {
  return std::tie(m.job, m.directory, m.rank_directory, m.node, m.hosts);
}
auto fields(Is<msg::Answer> auto& m) {
  return std::tie(m.id, m.status, m.blob);
}
auto fields(Is<msg::DataAsked> auto& m) {
  return std::tie(m.id, m.rank, m.key);
}
auto fields(Is<msg::Environment> auto& m) {
  return std::tie(m.rank, m.variables);
}
auto fields(Is<msg::Ready> auto&) {
  return std::tuple<>();
}
auto fields(Is<msg::Failed> auto& m) {
  return std::tie(m.why);
}
auto fields(Is<msg::Connected> auto& m) {
  return std::tie(m.rank);
}
auto fields(Is<msg::Finalized> auto& m) {
  return std::tie(m.id, m.rank);
}
auto fields(Is<msg::Abort> auto& m) {
  return std::tie(m.id, m.rank, m.status, m.message);
}
auto fields(Is<msg::Fence> auto& m) {
  return std::tie(m.id, m.ranks, m.blob, m.name);
}
auto fields(Is<msg::DataWanted> auto& m) {
  return std::tie(m.id, m.rank, m.key);
}
auto fields(Is<msg::Data> auto& m) {
  return std::tie(m.id, m.status, m.blob);
}
auto fields(Is<msg::Publish> auto& m) {
  return std::tie(m.id, m.rank, m.name, m.keep, m.blob, m.range);
}
auto fields(Is<msg::Lookup> auto& m) {
  return std::tie(m.id, m.rank, m.name, m.wait, m.range);
}
auto fields(Is<msg::Unpublish> auto& m) {
  return std::tie(m.id, m.rank, m.name, m.range);
}
auto fields(Is<msg::DataNoMore> auto& m) {
  return std::tie(m.id);
}
auto fields(Is<msg::GiveUp> auto& m) {
  return std::tie(m.id);
}
auto fields(Is<msg::Pull> auto& m) {
  return std::tie(m.ranks, m.out, m.err);
}
auto fields(Is<msg::PullNoMore> auto&) {
  return std::tuple<>();
}
auto fields(Is<msg::Copy> auto& m) {
  return std::tie(m.rank, m.error, m.left_out, m.bytes);
}
auto fields(Is<msg::Taken> auto& m) {
  return std::tie(m.rank, m.bytes);
}
auto fields(Is<msg::TableWanted> auto& m) {
  return std::tie(m.id, m.here, m.ranks);
}
auto fields(Is<msg::Notify> auto& m) {
  return std::tie(m.targets, m.blob);
}
auto fields(Is<msg::Control> auto& m) {
  return std::tie(m.id, m.ranks, m.signo);
}
auto fields(Is<msg::Log> auto& m) {
  return std::tie(m.id, m.rank, m.error, m.text);
}
auto fields(Is<msg::Event> auto& m) {
  return std::tie(m.blob);
}
auto fields(Is<msg::RanksFailed> auto& m) {
  return std::tie(m.ranks);
}
auto fields(Is<msg::Stopped> auto& m) {
  return std::tie(m.rank);
}
auto fields(Is<msg::Release> auto& m) {
  return std::tie(m.ranks);
}
auto fields(Is<ask::Stops> auto& stops) {
  return std::tie(stops.on_exec, stops.in_init);
}
auto fields(Is<msg::World::Program> auto& m) {
  return std::tie(m.ranks, m.words, m.directory);
}
auto fields(Is<msg::World> auto& m) {
  return std::tie(m.nspace, m.first, m.parent, m.universe, m.map, m.neighbours, m.hosts, m.programs,
                  m.stops);
}
auto fields(Is<msg::Spawn::Program> auto& m) {
  return std::tie(m.argv, m.env, m.ranks, m.directory, m.hosts, m.path);
}
auto fields(Is<msg::Spawn> auto& m) {
  return std::tie(m.id, m.rank, m.programs, m.stops);
}

// An enumeration takes one byte; a larger value than its last one is malformed.
constexpr Status last_value(Status) {
  return Status::timed_out;
}
constexpr Range last_value(Range) {
  return Range::rank;
}
constexpr Keep last_value(Keep) {
  return Keep::rank;
}

class Writer {
 public:
  template <class Struct>
  requires requires(const Struct& value) { fields(value); }
  void put(const Struct& value) {
    std::apply([&](const auto&... member) { (put(member), ...); }, fields(value));
  }
  void put(bool value) { out_.flag(value); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void put(Enum value) { out_.u8(static_cast<std::uint8_t>(value)); }
  void put(std::uint32_t value) { out_.varint(value); }
  void put(std::uint64_t value) { out_.varint(value); }
  void put(std::int32_t value) { out_.u32(static_cast<std::uint32_t>(value)); }
  void put(const std::string& value) { out_.text(value); }
  void put(const RankSet& value) { out_.ranks(value); }
  template <class Item>
  void put(const std::vector<Item>& items) {
    out_.varint(items.size());
    for (const Item& item : items)
      put(item);
  }
  void put(const std::optional<Rank>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  std::string take() { return out_.take(); }

 private:
  ByteWriter out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : in_(bytes) {}
  template <class Struct>
  requires requires(Struct& value) { fields(value); }
  void get(Struct& value) {
    std::apply([&](auto&... member) { (get(member), ...); }, fields(value));
  }
  void get(bool& value) {
    const std::uint8_t byte = in_.u8();
    if (byte > 1) in_.fail();
    value = byte == 1;
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void get(Enum& value) {
    const std::uint8_t byte = in_.u8();
    if (byte > static_cast<std::uint8_t>(last_value(Enum{}))) in_.fail();
    if (in_.ok()) value = static_cast<Enum>(byte);
  }
  void get(std::uint32_t& value) { value = in_.varint32(); }
  void get(std::uint64_t& value) { value = in_.varint(); }
  void get(std::int32_t& value) { value = static_cast<std::int32_t>(in_.u32()); }
  void get(std::string& value) { value = in_.text(); }
  void get(RankSet& value) { value = in_.ranks(); }
  template <class Item>
  void get(std::vector<Item>& items) {
    const std::uint64_t count = in_.varint();
    if (count > in_.rest().size()) in_.fail();  // an item takes at least a byte
    for (std::uint64_t i = 0; in_.ok() && i < count; ++i)
      get(items.emplace_back());
  }
  void get(std::optional<Rank>& value) {
    bool there = false;
    get(there);
    if (there) get(value.emplace());
  }
  bool done() const { return in_.done(); }

 private:
  ByteReader in_;
};

tl::unexpected<Error> broken(std::string why) {
  return fail(Error{ErrorKind::protocol, "talk to the PMIx server of the node", "", std::move(why),
                    "use the scela-pmix that came with this scela-nla"});
}

template <std::size_t I = 0>
Result<std::optional<Message>> decode(std::uint8_t kind, std::string_view body) {
  if constexpr (I == std::variant_size_v<MessageKinds>) {
    return broken(cat("a message of kind ", static_cast<unsigned>(kind), " is unknown"));
  } else {
    if (kind != I + 1) return decode<I + 1>(kind, body);
    std::variant_alternative_t<I, MessageKinds> message;
    Reader in(body);
    in.get(message);
    if (!in.done()) return broken(cat("a message of kind ", I + 1, " is malformed"));
    return Message(std::move(message));
  }
}

}  // namespace

std::string encode(const Message& message) {
  Writer out;
  std::visit([&](const auto& one) { out.put(one); }, message);
  const std::string body = out.take();
  std::string stream;
  stream.reserve(body.size() + (body.size() / kMaxPiece + 1) * kFrameHeader);
  std::string_view rest = body;
  while (rest.size() > kMaxPiece) {
    stream += frame_header(kPieceKind, kMaxPiece);
    stream += rest.substr(0, kMaxPiece);
    rest.remove_prefix(kMaxPiece);
  }
  stream += frame_header(static_cast<std::uint8_t>(message.index() + 1), rest.size());
  return stream.append(rest);
}

Result<std::optional<Message>> Decoder::next() {
  while (true) {
    Result<std::optional<Frame>> frame = frames_.next();
    if (!frame) return fail(frame.error());
    if (!*frame) return std::nullopt;
    const std::uint8_t kind = (*frame)->kind;
    std::string& payload = (*frame)->payload;
    if (body_.size() + payload.size() > kMaxBody) {
      return broken(cat("a message has more than ", kMaxBody, " bytes"));
    }
    if (kind != kPieceKind) {
      if (body_.empty()) return decode(kind, payload);
      body_ += payload;
      return decode(kind, std::exchange(body_, {}));
    }
    if (payload.empty()) return broken("a piece of a message is empty");
    body_ += payload;
  }
}

}  // namespace scela::pmix
