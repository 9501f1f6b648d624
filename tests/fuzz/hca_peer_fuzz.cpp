// What comes from another node: a greeting of whoever connects, and what follows one that was
// proved, sealed by somebody who has the secrets or not.
//
// The first byte says what the rest is: a greeting's bytes to either role; records as they come; or
// what a node that is proved seals into records, some of which are changed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "hca/core/wire.h"
#include "hca/engine/peer_link.h"

namespace {

using namespace scela::hca;

const std::string kSecret(32, 's');

void greet(bool connects, std::string_view bytes) {
  const Identity mine{"job", std::string(32, 'k'), 0, 4, 7, false};
  const std::string drawn(Greeting::kDrawn, 'd');
  Greeting greeting =
      connects ? Greeting::connecting(mine, 1, 1, drawn) : Greeting::accepting(mine, drawn);
  while (greeting.wants() > 0 && !bytes.empty()) {
    const std::size_t part = std::min({bytes.size(), greeting.wants(), std::size_t{17}});
    greeting.take(bytes.substr(0, part));
    bytes.remove_prefix(part);
    static_cast<void>(greeting.output());
  }
  // Nobody who does not know the key gets this far.
  if (greeting.state() == Greeting::State::asked || greeting.state() == Greeting::State::over)
    std::abort();
}

// Cuts and reads frames as the engine does; returns how many there were.
std::size_t read_frames(std::span<const std::byte> bytes) {
  std::size_t count = 0;
  static_cast<void>(cut_frames(bytes, [&](std::span<const std::byte> frame) {
    ++count;
    return header_of(frame).has_value();
  }));
  return count;
}

std::optional<std::size_t> open_all(std::span<const std::byte> bytes, std::size_t step,
                                    std::vector<std::byte>& found) {
  Opener opener(kSecret, 3);
  std::vector<std::byte> came;
  std::size_t all = 0;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(step, bytes.size()))) {
    const auto part = bytes.first(std::min(step, bytes.size()));
    came.insert(came.end(), part.begin(), part.end());
    std::vector<std::byte> room(came.size());
    std::span<const std::byte> rest = came;
    const auto held = opener.open(rest, room);
    if (!held) return std::nullopt;
    all += *held;
    found.insert(found.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(*held));
    came.assign(rest.begin(), rest.end());
  }
  return all;
}

void seal_and_open(std::span<const std::byte> bytes) {
  Sealer sealer(kSecret, 3);
  std::vector<std::byte> wire, found;
  const std::size_t size = 1 + std::to_integer<std::size_t>(bytes[0]);
  const std::size_t change = std::to_integer<std::size_t>(bytes[1]);
  const std::span held = bytes.subspan(2);
  for (std::size_t at = 0; at < held.size(); at += size) {
    const auto piece = held.subspan(at, std::min(size, held.size() - at));
    if (!sealer.seal({&piece, 1}, wire)) std::abort();
  }
  const bool changed = change != 0 && !wire.empty();
  if (changed) wire[change * 31 % wire.size()] ^= std::byte{0x20};
  const auto opened = open_all(wire, 1 + change % 7 * 50, found);
  const bool equal = std::ranges::equal(found, held);
  // Of what was changed at most what came before it is there, and never anything else.
  if (!changed && (!opened || !equal)) std::abort();
  if (changed && (equal || !std::ranges::equal(found, held.first(found.size())))) std::abort();
  read_frames(found);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  std::vector<std::byte> found;
  switch (data[0] % 4) {
    case 0:
    case 1:
      greet(data[0] % 4 == 0, text);
      break;
    case 2:
      // Nothing that was not sealed with the secret opens.
      if (open_all(bytes, 64, found).value_or(0) != 0) std::abort();
      read_frames(bytes);
      break;
    default:
      seal_and_open(bytes);
  }
  return 0;
}
