// Fuzzes what comes from another node: a greeting from any peer that connects, and what follows a
// proved greeting, encrypted by the other end and changed on its way or not.
//
// The first byte says what the rest is: a greeting's bytes to either role; frames as they come in
// the clear; or what a proved node says, of which some bytes are changed on their way.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "hca/core/wire/engine_frame.h"
#include "hca/engine/net/peer_link.h"

namespace {

using namespace scela;
using namespace scela::hca;

const std::string kSecret(32, 's');

void greet(bool connects, std::span<const std::byte> bytes) {
  const Identity mine{"job", kSecret, 0, 4, 7, false};
  Greeting greeting =
      connects ? Greeting::connecting(mine, 1, 1, kSecret) : Greeting::accepting(mine);
  while (greeting.state() == Greeting::State::going_on && !bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), std::size_t{17});
    greeting.take(bytes.first(part));
    bytes = bytes.subspan(part);
    greeting.sent(greeting.output().size());
  }
  // No input knows the key, so none gets this far.
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

// Takes what comes in parts of `step` bytes. Returns what was heard.
std::vector<std::byte> hear(TlsSession& session, std::span<const std::byte> bytes,
                            std::size_t step) {
  std::vector<std::byte> heard, room(std::size_t{1} << 16);
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(step, bytes.size()));
    bytes = bytes.subspan(part.size());
    session.receive(part);
    const std::size_t got = session.read(room);
    heard.insert(heard.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(got));
  }
  return heard;
}

void say_and_hear(std::span<const std::byte> bytes) {
  TlsSession client = TlsSession::client({"name", kSecret});
  TlsSession server = TlsSession::server([](std::string_view) { return kSecret; });
  for (int i = 0; i < 2; ++i) {
    server.receive(client.output());
    client.sent(client.output().size());
    client.receive(server.output());
    server.sent(server.output().size());
  }
  const std::size_t size = 1 + std::to_integer<std::size_t>(bytes[0]);
  const std::size_t change = std::to_integer<std::size_t>(bytes[1]);
  const std::span said = bytes.subspan(2);
  for (std::size_t at = 0; at < said.size(); at += size) {
    const auto piece = said.subspan(at, std::min(size, said.size() - at));
    if (!client.write({&piece, 1})) std::abort();
  }
  std::vector<std::byte> wire(client.output().begin(), client.output().end());
  const bool changed = change != 0 && !wire.empty();
  if (changed) wire[change * 31 % wire.size()] ^= std::byte{0x20};
  const std::vector<std::byte> heard = hear(server, wire, 1 + change % 7 * 50);
  const bool equal = std::ranges::equal(heard, said);
  // If bytes were changed, the session hears at most what came before them, and never anything
  // else.
  if (!changed && !equal) std::abort();
  if (changed && (equal || !std::ranges::equal(heard, said.first(heard.size())))) std::abort();
  read_frames(heard);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0] % 4) {
    case 0:
    case 1:
      greet(data[0] % 4 == 0, bytes);
      break;
    case 2:
      read_frames(bytes);
      break;
    default:
      say_and_hear(bytes);
  }
  return 0;
}
