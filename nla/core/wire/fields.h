// One list of fields for each struct, walked in both directions. The wire and log formats of
// nla/core are made of these lists.
//
// A struct takes part by an overload of fields() in its own namespace. The overload ties the
// members in the order in which they are written. FieldWriter and FieldReader know these kinds of
// member: integers of 16 bits are fixed, unsigned ones of 32 and 64 bits are varints, and signed
// ones are fixed. Enumerations and flags take one byte. Strings and lists begin with a varint
// count, and rank sets are ranges. The format decides what becomes of a Chunk: see the two
// constructors.
//
// Reading is strict. An enumeration out of its range, a flag other than 0 and 1, or a count that
// the remaining bytes cannot hold fails the ByteReader. Everything after reads as zeros.
//
// Private to nla/core. Knows no message and no event, has no lock, and one thread at a time uses a
// writer or reader.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cache/policy.h"
#include "common/core/bytes.h"
#include "common/core/chunk.h"
#include "common/core/kary_tree.h"
#include "common/core/log.h"
#include "common/core/terminal_modes.h"
#include "nla/core/wire/agent_messages.h"
#include "nla/core/wire/outcome.h"
#include "nla/core/wire/request_names.h"

namespace scela::nla {

// True if T is Struct, const or not.
template <class T, class Struct>
concept Is = std::same_as<std::remove_cv_t<T>, Struct>;

// Returns the last enumerator of the enumeration; its argument is not used. An enumeration on the
// wire has the values 0 to last_value(e), in the order of its declaration.
constexpr Stream last_value(Stream) {
  return Stream::err;
}
constexpr StartPhase last_value(StartPhase) {
  return StartPhase::running;
}
constexpr Inspection last_value(Inspection) {
  return Inspection::tool;
}
constexpr Ending last_value(Ending) {
  return Ending::timed_out;
}

// Each returns a tuple of references to the members that travel, in the order in which they are
// written.
auto fields(Is<Outcome> auto& o) {
  return std::tie(o.ending, o.code, o.core_dumped, o.ended_by_us, o.why);
}
auto fields(Is<CollectiveId> auto& id) {
  return std::tie(id.set, id.seq, id.tag);
}
auto fields(Is<Stats> auto& s) {
  return std::tie(s.agents, s.messages, s.bytes, s.max_private_bytes, s.max_resident_bytes,
                  s.cache_bytes, s.root_cache_bytes, s.output_bytes);
}

}  // namespace scela::nla

namespace scela {
constexpr LogLevel last_value(LogLevel) {
  return LogLevel::error;
}
constexpr Subsystem last_value(Subsystem) {
  return Subsystem::placement;
}
auto fields(nla::Is<WindowSize> auto& size) {
  return std::tie(size.rows, size.columns, size.x_pixels, size.y_pixels);
}
auto fields(nla::Is<Slice> auto& slice) {
  return std::tie(slice.first, slice.end);
}
auto fields(nla::Is<LogRecord> auto& r) {
  return std::tie(r.level, r.subsystem, r.node, r.text);
}
}  // namespace scela

namespace scela::ask {
constexpr CollectiveKind last_value(CollectiveKind) {
  return CollectiveKind::alltoall;
}
constexpr NameAct last_value(NameAct) {
  return NameAct::withdraw;
}
constexpr NameRange last_value(NameRange) {
  return NameRange::rank;
}
auto fields(nla::Is<SpawnProgram> auto& program) {
  return std::tie(program.argv, program.ranks, program.infos, program.env);
}
auto fields(nla::Is<Stops> auto& stops) {
  return std::tie(stops.on_exec, stops.in_init);
}
auto fields(nla::Is<SpawnRequest> auto& request) {
  return std::tie(request.programs, request.preput, request.stops);
}
}  // namespace scela::ask

namespace scela::cache {
constexpr PolicyKind last_value(PolicyKind) {
  return PolicyKind::dht;
}
}  // namespace scela::cache

namespace scela::nla {

// Appends fields to a ByteWriter. The kinds of members are listed at the head of this file.
class FieldWriter {
 public:
  // Writes a Chunk like a string: a varint length and the bytes. `out` is borrowed.
  explicit FieldWriter(ByteWriter& out) : out_(out) {}
  // Does not write the Chunk, which must be the last field, but shares it with `tail`. Both
  // references are borrowed.
  FieldWriter(ByteWriter& out, Chunk& tail) : out_(out), tail_(&tail) {}

  // Writes all members of a struct.
  template <class Struct>
  void all(const Struct& value) {
    each(fields(value));
  }
  // Writes the members that a tuple ties, in their order.
  template <class... Member>
  void each(const std::tuple<Member&...>& members) {
    std::apply([this](const auto&... member) { (put(member), ...); }, members);
  }

  // Append one member, in the form that the head of this file lists. A type that needs another form
  // has a function write_field(FieldWriter&, const Type&) in its namespace.
  void put(bool value) { out_.flag(value); }
  void put(std::uint16_t value) { out_.u16(value); }
  void put(std::uint32_t value) { out_.varint(value); }
  void put(std::uint64_t value) { out_.varint(value); }
  void put(std::int32_t value) { out_.u32(static_cast<std::uint32_t>(value)); }
  void put(const std::string& value) { out_.text(value); }
  void put(const RankSet& value) { out_.ranks(value); }
  void put(const Chunk& value) {
    if (tail_ != nullptr) {
      *tail_ = value;
    } else {
      out_.text(value.view());
    }
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void put(Enum value) { out_.u8(static_cast<std::uint8_t>(value)); }
  template <class First, class Second>
  void put(const std::pair<First, Second>& value) {
    put(value.first);
    put(value.second);
  }
  template <class Item>
  void put(const std::vector<Item>& items) {
    out_.varint(items.size());
    for (const Item& item : items)
      put(item);
  }
  template <class Struct>
  requires requires(const Struct& value) { fields(value); }
  void put(const Struct& value) { all(value); }
  template <class Special>
  requires requires(FieldWriter& writer, const Special& value) { write_field(writer, value); }
  void put(const Special& value) { write_field(*this, value); }

  // Returns the writer of the constructor, for write_field().
  ByteWriter& bytes() { return out_; }

 private:
  ByteWriter& out_;
  Chunk* tail_ = nullptr;
};

// Reads fields from a ByteReader, in the order of FieldWriter. An error is kept by the ByteReader
// (ByteReader::ok()).
class FieldReader {
 public:
  // Reads a Chunk as a copy of the string's bytes. `in` is borrowed.
  explicit FieldReader(ByteReader& in) : in_(in) {}
  // Reads a Chunk as the window of `whole` that begins at the position of `in`; `in` reads the
  // bytes of `whole`.
  FieldReader(ByteReader& in, const Chunk& whole) : in_(in), whole_(&whole) {}

  // Reads all members of a struct.
  template <class Struct>
  void all(Struct& value) {
    each(fields(value));
  }
  // Reads the members that a tuple ties, in their order.
  template <class... Member>
  void each(const std::tuple<Member&...>& members) {
    std::apply([this](auto&... member) { (get(member), ...); }, members);
  }

  // Read one member into `value`. A type that needs another form has a function
  // read_field(FieldReader&, Type&) in its namespace.
  void get(bool& value) {
    const std::uint8_t byte = in_.u8();
    if (byte > 1) in_.fail();
    value = byte == 1;
  }
  void get(std::uint16_t& value) { value = in_.u16(); }
  void get(std::uint32_t& value) { value = in_.varint32(); }
  void get(std::uint64_t& value) { value = in_.varint(); }
  void get(std::int32_t& value) { value = static_cast<std::int32_t>(in_.u32()); }
  void get(std::string& value) { value = in_.text(); }
  void get(RankSet& value) { value = in_.ranks(); }
  void get(Chunk& value) {
    if (whole_ != nullptr) {
      value = whole_->slice(whole_->size() - in_.rest().size());
      in_.raw(in_.rest().size());
    } else {
      value = Chunk(std::string(in_.text()));
    }
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void get(Enum& value) {
    const std::uint8_t byte = in_.u8();
    if (byte > static_cast<std::uint8_t>(last_value(Enum{}))) in_.fail();
    value = in_.ok() ? static_cast<Enum>(byte) : Enum{};
  }
  template <class First, class Second>
  void get(std::pair<First, Second>& value) {
    get(value.first);
    get(value.second);
  }
  template <class Item>
  void get(std::vector<Item>& items) {
    items.clear();
    const std::uint64_t count = in_.varint();
    // An item takes at least one byte, so a larger count is wrong.
    if (count > in_.rest().size()) in_.fail();
    for (std::uint64_t i = 0; in_.ok() && i < count; ++i)
      get(items.emplace_back());
  }
  template <class Struct>
  requires requires(Struct& value) { fields(value); }
  void get(Struct& value) { all(value); }
  template <class Special>
  requires requires(FieldReader& reader, Special& value) { read_field(reader, value); }
  void get(Special& value) { read_field(*this, value); }

  // Returns the reader of the constructor, for read_field().
  ByteReader& bytes() { return in_; }

 private:
  ByteReader& in_;
  const Chunk* whole_ = nullptr;
};

}  // namespace scela::nla
