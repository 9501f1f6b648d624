// Records of collective operations, in the form that collectives.h describes. Pure functions and
// values, for any thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/bytes.h"
#include "common/core/chunk.h"

namespace scela::nla {

// The destination of a record for all members.
inline constexpr std::uint32_t kEverybody = UINT32_MAX;
// The most payload bytes of one record: with its header it stays within a piece.
inline constexpr std::size_t kRecordPayload = std::size_t{60} * 1024;

struct Record {
  Rank source = 0;
  std::uint32_t destination = kEverybody;
  std::uint64_t total = 0;   // bytes of the whole payload
  std::uint64_t offset = 0;  // offset of these bytes
  Chunk bytes;
};

// Appends a record with `bytes`, which begin at `offset` of a payload of `total` bytes. The caller
// cuts payloads, so that `bytes` has at most kRecordPayload bytes.
void append_record(std::string& out, Rank source, std::uint32_t destination, std::uint64_t total,
                   std::uint64_t offset, std::string_view bytes);

// Calls each(record) for every record. Returns false if the bytes are malformed; the records before
// the fault have been passed to `each` then.
template <class F>
bool for_each_record(const Chunk& records, F&& each) {
  ByteReader in(records.view());
  while (in.ok() && !in.rest().empty()) {
    Record record;
    record.source = in.varint32();
    record.destination = in.varint32() - 1;  // 0 wraps to kEverybody
    record.total = in.varint();
    record.offset = in.varint();
    const std::string_view bytes = in.text();
    if (!in.ok() || record.offset > record.total || bytes.size() > record.total - record.offset) {
      return false;
    }
    const auto at = static_cast<std::size_t>(bytes.data() - records.view().data());
    record.bytes = records.slice(at, bytes.size());
    each(record);
  }
  return in.ok();
}

}  // namespace scela::nla
