// A topology as bytes. Machines are regular: the first threads of all cores come first, then the
// second ones. So each kind of number changes by the same step over long runs. Every column of
// numbers is written as runs of (first number, step, length).
//
//   topology := online(varint) restriction(u8) count(varint) column*8
//   column   := run* of `count` numbers in all: position in the machine's order, cpu, thread, core,
//               L3 cache, NUMA domain, socket, core of its socket
//   run      := number + 1 (varint; 0: no such object) zigzag(step)(varint) length(varint)
#include <algorithm>

#include "common/core/bytes.h"
#include "common/core/placement/topology.h"

namespace scela {

namespace {

using Column = std::vector<std::uint32_t>;

constexpr std::uint32_t Processor::*kKinds[] = {
    &Processor::cpu,  &Processor::thread, &Processor::core,          &Processor::l3,
    &Processor::numa, &Processor::socket, &Processor::core_of_socket};

// Steps are modulo 2^32, as the numbers are.
std::uint32_t zigzag(std::uint32_t step) {
  return (step << 1) ^ (0u - (step >> 31));
}
std::uint32_t step_of(std::uint32_t zigzag) {
  return (zigzag >> 1) ^ (0u - (zigzag & 1));
}

void put(const Column& column, ByteWriter& out) {
  for (std::size_t first = 0; first < column.size();) {
    const std::size_t next = first + 1;
    const std::uint32_t step = next < column.size() ? column[next] - column[first] : 0;
    std::size_t end = next;
    while (end < column.size() && column[end] - column[end - 1] == step)
      ++end;
    out.varint(column[first] + 1);  // kNoObject becomes 0
    out.varint(zigzag(step));
    out.varint(end - first);
    first = end;
  }
}

Column get(std::size_t count, ByteReader& in) {
  Column column;
  while (in.ok() && column.size() < count) {
    std::uint32_t number = in.varint32() - 1;
    const std::uint32_t step = step_of(in.varint32());
    const std::uint64_t length = in.varint();
    if (length == 0 || length > count - column.size()) in.fail();
    for (std::uint64_t i = 0; in.ok() && i < length; ++i, number += step)
      column.push_back(number);
  }
  return column;
}

}  // namespace

std::string Topology::bytes() const {
  Column order(processors_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return processors_[i].thread; });
  ByteWriter out;
  out.varint(online_);
  out.u8(static_cast<std::uint8_t>(restriction_));
  out.varint(order.size());
  put(order, out);
  for (const auto kind : kKinds) {
    Column column;
    for (const std::uint32_t i : order)
      column.push_back(processors_[i].*kind);
    put(column, out);
  }
  return out.take();
}

std::uint64_t Topology::claimed(std::string_view bytes) {
  ByteReader in(bytes);
  static_cast<void>(in.varint32());
  static_cast<void>(in.u8());
  const std::uint64_t count = in.varint();
  return in.ok() ? count : 0;
}

Result<Topology> Topology::parse(std::string_view bytes) {
  ByteReader in(bytes);
  Topology out;
  out.online_ = in.varint32();
  const std::uint8_t restriction = in.u8();
  const std::uint64_t count = in.varint();
  if (restriction > static_cast<std::uint8_t>(Restriction::share) || count > kMaxCpus) in.fail();
  if (in.ok()) out.processors_.resize(count);
  const Column order = get(out.processors_.size(), in);
  for (const auto kind : kKinds) {
    const Column column = get(out.processors_.size(), in);
    for (std::size_t i = 0; in.ok() && i < order.size(); ++i) {
      if (order[i] < order.size()) out.processors_[order[i]].*kind = column[i];
    }
  }
  out.restriction_ = static_cast<Restriction>(restriction);
  const bool known =
      std::ranges::all_of(out.processors_, [](const Processor& one) { return one.cpu < kMaxCpus; });
  // Bytes that bytes() would not write fail here, such as an invalid order or a repeated number.
  if (in.done() && known && out.online_ >= count && out.bytes() == bytes) return out;
  return fail(Error{ErrorKind::protocol, "read a node's topology", "", "it is malformed", ""});
}

}  // namespace scela
