#include "nla/core/kvs/records.h"

namespace scela::nla {

void append_record(std::string& out, Rank source, std::uint32_t destination, std::uint64_t total,
                   std::uint64_t offset, std::string_view bytes) {
  ByteWriter record;
  record.varint(source);
  record.varint(static_cast<std::uint32_t>(destination + 1));
  record.varint(total);
  record.varint(offset);
  record.text(bytes);
  out += record.bytes();
}

}  // namespace scela::nla
