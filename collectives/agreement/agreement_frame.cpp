#include "collectives/agreement/agreement_frame.h"

#include <cstring>

namespace scela::collectives {

namespace {

// Ranks of a job have the same byte order, which is checked when they connect.
struct Header {
  std::uint32_t magic = 0;
  std::uint8_t kind = 0;
  std::uint8_t unused[3] = {};
  std::int32_t accepted_of = -1;
  std::uint32_t calls = 0;
  std::uint64_t flags = 0;
  std::uint64_t highest = 0;
};
constexpr std::uint32_t kMagic = 0x5ce1'a9ee;
static_assert(sizeof(Header) == 32);

}  // namespace

std::size_t frame_bytes(int ranks) {
  return sizeof(Header) + AgreementValue(ranks).ended.size() * sizeof(std::uint64_t);
}

std::vector<std::byte> to_frame(const Agreement::Message& message) {
  Header header;
  header.magic = kMagic;
  header.kind = static_cast<std::uint8_t>(message.kind);
  header.accepted_of = message.accepted_of;
  header.calls = message.word.calls;
  header.flags = message.word.flags;
  header.highest = message.word.highest;
  const auto ended = std::as_bytes(std::span(message.word.ended));
  std::vector<std::byte> bytes(sizeof header + ended.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!ended.empty()) std::memcpy(bytes.data() + sizeof header, ended.data(), ended.size());
  return bytes;
}

std::optional<Agreement::Message> from_frame(std::span<const std::byte> bytes, int ranks) {
  Header header;
  if (bytes.size() != frame_bytes(ranks)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kMagic || header.kind > static_cast<std::uint8_t>(Agreement::Kind::decide) ||
      header.accepted_of < -1 || header.accepted_of >= ranks)
    return std::nullopt;
  Agreement::Message message;
  message.kind = static_cast<Agreement::Kind>(header.kind);
  message.accepted_of = header.accepted_of;
  message.word = AgreementValue(ranks);
  message.word.calls = header.calls;
  message.word.flags = header.flags;
  message.word.highest = header.highest;
  std::memcpy(message.word.ended.data(), bytes.data() + sizeof header,
              bytes.size() - sizeof header);
  return message;
}

}  // namespace scela::collectives
