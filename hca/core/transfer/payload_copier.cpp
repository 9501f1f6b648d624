#include "hca/core/transfer/payload_copier.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace scela::hca {
namespace {

// Iterates over pieces as over one contiguous range of bytes.
class Cursor {
 public:
  Cursor(const std::vector<Piece>& pieces, std::uint64_t skip) : pieces_(pieces), offset_(skip) {
    settle();
  }
  bool at_end() const { return index_ == pieces_.size(); }
  std::uint64_t address() const { return pieces_[index_].address + offset_; }
  std::uint64_t left() const { return pieces_[index_].bytes - offset_; }
  void step(std::uint64_t bytes) {
    offset_ += bytes;
    settle();
  }

 private:
  void settle() {
    while (index_ < pieces_.size() && offset_ >= pieces_[index_].bytes)
      offset_ -= pieces_[index_++].bytes;
  }
  const std::vector<Piece>& pieces_;
  std::size_t index_ = 0;
  std::uint64_t offset_;
};

}  // namespace

// A strict engine writes the bytes in any order, but the last part last: programs on every adapter
// wait for the last byte (perftest does). If a process moves the bytes itself, they stay in order,
// because each part would wait for it.
Transfer PayloadCopier::deliver(const Incoming& incoming, ProcessId to,
                                const std::vector<Piece>& pieces, std::uint64_t skip) {
  constexpr std::uint64_t kParts = 4;
  const bool at_once = memory_.at_once(to) && memory_.at_once(incoming.from);
  if (seed_ == 0 || !at_once || incoming.count < kParts)
    return deliver_in_order(incoming, to, pieces, skip);
  std::array<std::uint64_t, kParts> order{};
  std::iota(order.begin(), order.end(), 0);
  Random drawn(seed_ ^ (incoming.total << 32) ^ (incoming.offset + skip));
  for (std::uint64_t i = kParts - 1; i > 1; --i)
    std::swap(order[i - 1], order[drawn.below(i)]);
  for (const std::uint64_t at : order) {
    const std::uint64_t begin = incoming.count * at / kParts;
    Incoming some = incoming;
    some.offset = incoming.offset + begin;
    some.count = incoming.count * (at + 1) / kParts - begin;
    if (!incoming.bytes.empty()) {
      if (begin + some.count > incoming.bytes.size()) return Transfer::refused;
      some.bytes = incoming.bytes.subspan(begin, some.count);
    }
    const Transfer moved = deliver_in_order(some, to, pieces, skip + begin);
    if (moved != Transfer::done) return moved;
  }
  return Transfer::done;
}

Transfer PayloadCopier::deliver_in_order(const Incoming& incoming, ProcessId to,
                                         const std::vector<Piece>& pieces, std::uint64_t skip) {
  static const std::vector<Piece> none;
  Cursor target(pieces, skip);
  Cursor source(incoming.pieces ? *incoming.pieces : none, incoming.offset);
  std::uint64_t done = 0;
  while (done < incoming.count) {
    if (target.at_end()) return Transfer::refused;
    std::uint64_t bytes = std::min(incoming.count - done, target.left());
    Transfer moved = Transfer::refused;
    if (!incoming.pieces || !incoming.bytes.empty()) {
      if (done + bytes > incoming.bytes.size()) return Transfer::refused;
      moved = memory_.write(to, target.address(), incoming.bytes.subspan(done, bytes));
    } else {
      if (source.at_end()) return Transfer::refused;
      bytes = std::min(bytes, source.left());
      moved = memory_.copy(incoming.from, source.address(), to, target.address(), bytes);
      source.step(bytes);
    }
    if (moved != Transfer::done) return moved;
    target.step(bytes);
    done += bytes;
  }
  return Transfer::done;
}

Transfer PayloadCopier::is_readable(const Incoming& incoming) {
  std::vector<std::byte> bytes(std::min<std::uint64_t>(incoming.count, 64 * 1024));
  std::uint64_t left = incoming.count;
  for (Cursor at(*incoming.pieces, incoming.offset); left > 0 && !at.at_end();) {
    const std::uint64_t count = std::min<std::uint64_t>({left, at.left(), bytes.size()});
    const Transfer moved = memory_.read(incoming.from, at.address(), std::span(bytes).first(count));
    if (moved != Transfer::done) return moved;
    at.step(count);
    left -= count;
  }
  return Transfer::done;
}

Transfer PayloadCopier::spoil(ProcessId process, const std::vector<Piece>& pieces,
                              std::uint64_t bytes) {
  if (seed_ == 0) return Transfer::done;
  const std::vector<std::byte> other(std::min<std::uint64_t>(bytes, 64 * 1024), std::byte{0xDB});
  for (Cursor at(pieces, 0); bytes > 0 && !at.at_end();) {
    const std::uint64_t count = std::min<std::uint64_t>({bytes, at.left(), other.size()});
    const Transfer moved = memory_.write(process, at.address(), std::span(other).first(count));
    if (moved != Transfer::done) return moved;
    at.step(count);
    bytes -= count;
  }
  return Transfer::done;
}

}  // namespace scela::hca
