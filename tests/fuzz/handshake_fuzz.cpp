// Fuzzes datagrams about connections. A datagram that is accepted has one form. Whatever a machine
// is told, it has no more links than nodes, and no link that it cannot be asked to let go. A
// datagram without the job's secret changes nothing at all.
//
// The input is datagrams of 108 bytes. If bytes are left over, they are a datagram that is too
// short. Each datagram is tried on its own, and then given to a machine of each mode with a
// repaired head, so that more get through.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "comm-channel/core/connect/connection_machine.h"
#include "common/core/bytes.h"

using namespace scela::channel::connect;

namespace {

constexpr std::uint64_t kSecret = 77;

PeerAddress card_of(std::uint32_t rank) {
  PeerAddress card;
  card.name = {1, rank};
  card.life = 5;
  card.node = rank / 2;
  card.address.qpn = rank + 1;
  return card;
}

// Answers each action that has an answer. Every third queue pair cannot be made.
void carry_out(Machine& machine, Time now) {
  auto& actions = machine.actions();
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const Action action = actions[i];
    const std::uint32_t number = static_cast<std::uint32_t>(i) + 1;
    if (const auto* make = std::get_if<action::CreateSendQp>(&action)) {
      machine.handle(event::QpMade{make->qp, number, 0}, now);
    } else if (const auto* receive = std::get_if<action::CreateReceiveQp>(&action)) {
      machine.handle(event::QpMade{receive->qp, number, 0}, now);
    } else if (const auto* open = std::get_if<action::OpenReceiveQp>(&action)) {
      if (open->number % 3 == 0) {
        machine.handle(event::QpFailed{open->qp, true}, now);
      } else {
        machine.handle(event::QpMade{open->qp, number, 0}, now);
      }
    } else if (const auto* connect = std::get_if<action::ConnectQp>(&action)) {
      machine.handle(event::QpConnected{connect->qp}, now);
    } else if (const auto* drain = std::get_if<action::Drain>(&action)) {
      machine.handle(event::Drained{drain->peer}, now);
    } else if (const auto* send = std::get_if<action::SendDatagram>(&action)) {
      if (!decode(send->bytes)) std::abort();  // others understand all that it says
    }
  }
  actions.clear();
}

std::string snapshot_of(const Machine& machine, Time now) {
  scela::ByteWriter out;
  machine.snapshot(out, now);
  return out.take();
}

// Checks that a datagram from a sender without the secret changes nothing.
void must_not_hear(Machine& machine, std::string_view bytes, Time now) {
  const std::string before = snapshot_of(machine, now);
  const std::size_t peers = machine.peers().size();
  const std::uint64_t unheard = machine.counts().unheard;
  machine.handle(event::Datagram{bytes}, now);
  if (!machine.actions().empty() || machine.peers().size() != peers ||
      machine.counts().unheard != unheard + 1 || snapshot_of(machine, now) != before) {
    std::abort();
  }
}

void repair(Handshake& shake) {
  shake.secret = kSecret;
  shake.to = card_of(0).name;
  if (shake.to_life > 16) shake.to_life = 5;
  shake.from.name.rank %= 8;
  shake.from.name.job &= 1;
  shake.from.life %= 7;
}

void play(Mode mode, std::string_view input) {
  Options options;
  options.mode = mode;
  options.secret = kSecret;
  options.tries = 3;
  Machine machine(card_of(0), options);
  for (std::uint32_t rank = 1; rank < 4; ++rank)
    machine.add(card_of(rank));
  Time now{};
  while (!input.empty()) {
    const std::string_view bytes = input.substr(0, kHandshakeBytes);
    input.remove_prefix(bytes.size());
    now += std::chrono::milliseconds(5);
    machine.handle(event::Wanted{static_cast<PeerId>(bytes.size() > 40 ? bytes[40] & 3 : 1) % 3},
                   now);
    carry_out(machine, now);
    auto shake = decode(bytes);
    if (!shake || shake->secret != kSecret) must_not_hear(machine, bytes, now);
    if (shake) {
      repair(*shake);
      machine.handle(event::Datagram{encode(*shake)}, now);
    } else {
      machine.handle(event::Timer{}, now);
    }
    carry_out(machine, now);
    if (mode != Mode::pairs && machine.counts().links > machine.peers().nodes()) std::abort();
    if (machine.counts().held > machine.peers().size()) std::abort();
  }
  machine.handle(event::Leave{}, now);
  carry_out(machine, now);
  for (int waits = 0; waits < 200 && machine.next_wake(); ++waits) {
    now = *machine.next_wake();
    machine.handle(event::Timer{}, now);
    carry_out(machine, now);
  }
  if (machine.counts().links != 0 || machine.counts().held != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view first = input.substr(0, kHandshakeBytes);
  if (const auto shake = decode(first)) {
    if (encode(*shake) != first) std::abort();
  }
  if (size > 20 * kHandshakeBytes) return 0;
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs})
    play(mode, input);
  return 0;
}
