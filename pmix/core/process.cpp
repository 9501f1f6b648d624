#include "pmix/core/process.h"

#include "common/core/bytes.h"

namespace scela::pmix {

namespace {

constexpr std::size_t kLeast = 7;  // least bytes of a process

}  // namespace

std::string encode_processes(const std::vector<Process>& processes) {
  ByteWriter out;
  out.varint(processes.size());
  for (const Process& one : processes) {
    out.varint(one.rank);
    out.varint(one.pid);
    out.u8(static_cast<std::uint8_t>(one.state));
    out.u32(static_cast<std::uint32_t>(one.code));
  }
  return out.take();
}

std::optional<std::vector<Process>> decode_processes(std::string_view bytes) {
  ByteReader in(bytes);
  const std::uint64_t count = in.varint();
  if (count > in.rest().size() / kLeast) return std::nullopt;
  std::vector<Process> out;
  out.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    Process& one = out.emplace_back();
    one.rank = in.varint32();
    one.pid = in.varint32();
    const std::uint8_t state = in.u8();
    if (state > static_cast<std::uint8_t>(ProcessState::lost)) return std::nullopt;
    one.state = static_cast<ProcessState>(state);
    one.code = static_cast<std::int32_t>(in.u32());
  }
  if (!in.done()) return std::nullopt;
  return out;
}

}  // namespace scela::pmix
