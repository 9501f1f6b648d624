// Fuzzes the engine with a hostile process and a hostile node. Whatever a process asks for and
// writes into what it shares, and whatever frames come, the engine touches only what is mapped, and
// ends each of its turns.
//
// The input is a list of actions; where it is too short, it is continued with zeros. The machine of
// the unit tests refuses every access outside of what is mapped, and the sanitizer sees every
// other.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "hca/core/wire/engine_frame.h"
#include "tests/unit/hca/core/fabric_model.h"

namespace {

using namespace scela::hca;
using namespace scela::hca::test;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool ended() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // Returns small numbers mostly, and now and then all bits.
  std::uint64_t number() {
    const std::uint8_t first = byte();
    if (first < 0xF0) return first;
    std::uint64_t value = 0;
    for (int i = 0; i < (first & 7) + 1; ++i)
      value = value << 8 | byte();
    return value;
  }
  // Changes some bytes of what is there.
  template <class Value>
  void disturb(Value& value) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(&value);
    for (int i = byte() & 3; i > 0; --i)
      bytes[number() % sizeof value] = byte();
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

// The memory of both processes is not reached at once: orders are carried out between turns.
Fabric& prepare(Fabric& fabric, bool distant) {
  if (distant) fabric.machine.distant = {1, 2};
  fabric.lazy = true;
  return fabric;
}

struct World {
  explicit World(bool distant) : a(prepare(fabric, distant), 1), b(fabric, 2) {
    fabric.machine.nodes[11] = 2;
    mine = a.buffer(256);
    theirs = b.buffer(256);
    const std::array types{QpType::rc, QpType::uc, QpType::ud, QpType::rc};
    for (std::size_t i = 0; i < types.size(); ++i) {
      of_a[i] = a.make_qp(types[i]);
      of_b[i] = b.make_qp(types[i]);
      Way way;
      connect(b, of_b[i], types[i], of_a[i].handle, way);
      if (i == 3) way.lid = 11;  // at the other node
      connect(a, of_a[i], types[i], of_b[i].handle, way);
      b.post_recv(of_b[i], i, {theirs.sge(64, 64)});
    }
  }
  Fabric fabric;
  Program a, b;
  Buffer mine, theirs;
  std::array<QueuePair, 4> of_a, of_b;
};

void ask(World& world, Input& in) {
  Ask ask;
  ask.operation = static_cast<Operation>(in.byte() % 25);
  ask.handle =
      in.byte() < 128 ? world.of_a[in.byte() % 4].handle : static_cast<std::uint32_t>(in.number());
  ask.pd = world.a.pd;
  ask.send_cq = ask.recv_cq = ask.cq = world.a.cq;
  ask.entries = static_cast<std::uint32_t>(in.number() % 4096);
  ask.cap = {in.byte(), in.byte(), 2, 2, in.byte()};
  ask.qp_type = static_cast<QpType>(in.byte() % 12);
  ask.attributes.state = static_cast<QpState>(in.byte() % 8);
  ask.attribute_mask = attribute::kState | static_cast<std::uint32_t>(in.number());
  ask.xrcd = ask.srq = ask.number = in.byte();
  ask.open_flags = 0100;
  ask.address = ask.iova = in.number();
  ask.length = in.number();
  in.disturb(ask);
  ask.entries %= 1U << 16;  // memory is not what is tried here
  ask.cap.recv_requests %= 1U << 12;
  ask.cap.send_requests %= 1U << 12;
  world.a.request(ask);
}

void write_ring(World& world, Input& in) {
  const QueuePair& qp = world.of_a[in.byte() % 4];
  SendRequest request;
  request.opcode = static_cast<Opcode>(in.byte() % 10 + (in.byte() & 1) * 0x100);
  request.flags = in.byte();
  request.inline_bytes = in.byte();
  request.remote_address = world.theirs.address() + in.number();
  request.rkey = world.theirs.key;
  request.target = in.byte() < 128 ? world.a.cq : qp.handle;
  request.wait_until = in.number();
  request.destination = {
      {}, static_cast<std::uint16_t>(in.byte() & 1 ? 1 : 11), 1, 0, world.of_b[2].handle, 0x1111,
      0};
  in.disturb(request);
  std::vector<Sge> sges(in.byte() % 5);
  for (Sge& sge : sges) {
    sge = world.mine.sge(in.number(), static_cast<std::uint32_t>(in.number()));
    in.disturb(sge);
  }
  request.sge_count = static_cast<std::uint32_t>(sges.size());
  if (in.byte() > 200) request.sge_count = static_cast<std::uint32_t>(in.number());
  if (world.a.knows(qp)) world.a.post_raw(qp, request, sges);
}

void spoil(World& world, Input& in) {
  ProcessPage& page = world.a.page();
  switch (in.byte() % 4) {
    case 0:
      page.summary = in.number();
      break;
    case 1:
      page.words[in.byte() % kDoorbellWords] = in.number();
      break;
    case 2:
      world.a.completions().consumed = in.number();
      break;
    default:
      world.a.completions().armed = static_cast<std::uint32_t>(in.number());
  }
}

void frame(World& world, Input& in) {
  const std::size_t which = in.byte() % 4;
  FrameHeader header;
  header.kind = static_cast<FrameKind>(in.byte() % 7);
  header.target_qpn = world.of_a[which].handle;
  header.source_qpn = world.of_b[which].handle;
  header.source_type = which == 2 ? QpType::ud : which == 1 ? QpType::uc : QpType::rc;
  header.psn = 100 + in.byte() % 4;
  header.round = in.byte() % 4;
  header.opcode = static_cast<Opcode>(in.byte() % 10);
  header.rkey = world.mine.key;
  header.remote_address = world.mine.address() + in.number();
  header.verdict = in.byte() % 6;
  header.qkey = 0x1111;
  header.total = in.number();
  header.offset = in.byte() % 2 * in.number();
  header.count = in.number() % 512;
  in.disturb(header);
  std::vector<std::byte> bytes(sizeof header + (in.byte() & 1 ? header.count % 100'000 : 0));
  std::memcpy(bytes.data(), &header, sizeof header);
  if (in.byte() > 240) bytes.resize(in.number() % (bytes.size() + 1));
  world.fabric.engine.receive(in.byte() < 200 ? 2 : 1, bytes, world.fabric.now);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  World world(size % 2 == 1);
  for (int actions = 0; actions < 60 && !in.ended(); ++actions) {
    switch (in.byte() % 8) {
      case 0:
      case 1:
        ask(world, in);
        break;
      case 2:
      case 3:
        write_ring(world, in);
        break;
      case 4:
        spoil(world, in);
        break;
      case 5:
      case 6:
        frame(world, in);
        break;
      default:
        world.fabric.now += in.number();
        world.fabric.machine.frames.clear();
        if (in.byte() == 0) world.fabric.engine.lost(2, world.fabric.now);
        world.fabric.engine.writable(2);
    }
    for (int turns = 0; turns < 3; ++turns) {
      world.fabric.engine.run(world.fabric.now);
      if (turns > 0) world.fabric.machine.carry_out_some();
    }
    world.fabric.machine.events.clear();
    world.fabric.machine.channel_events.clear();
  }
  world.a.leave();
  world.b.leave();
  // Both processes have left, so the machine must have nothing of them.
  if (world.fabric.machine.allocated != 0 || world.fabric.machine.orders_given() != 0) std::abort();
  return 0;
}
