// Records of collective operations: each is a part of what one member contributes, in the form that
// collectives.h describes. Pure functions and values, for any thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/bytes.h"
#include "common/core/chunk.h"

namespace scela::nla {

// The value of Record::destination if the record is for all members.
inline constexpr std::uint32_t kEverybody = UINT32_MAX;
// The most payload bytes of one record: with its header it stays within a piece of kMaxPiece bytes.
inline constexpr std::size_t kRecordPayload = std::size_t{60} * 1024;

// Some bytes of the payload that the rank `source` contributes for the rank `destination`, or for
// all members.
struct Record {
  Rank source = 0;
  std::uint32_t destination = kEverybody;
  std::uint64_t total = 0;   // bytes of the whole payload
  std::uint64_t offset = 0;  // offset of these bytes
  Chunk bytes;
};

// Appends a record to `out`. `bytes` begin at `offset` of a payload of `total` bytes. The caller
// cuts payloads, so that `bytes` has at most kRecordPayload bytes.
void append_record(std::string& out, Rank source, std::uint32_t destination, std::uint64_t total,
                   std::uint64_t offset, std::string_view bytes);

// Calls each(const Record&) for every record, in order. Returns false if the bytes are malformed;
// the records before the fault have been passed to `each` then. The record's bytes are a window
// into `records`.
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
