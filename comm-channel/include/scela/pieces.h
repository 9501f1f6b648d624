// The pieces of a message that lies in several places of the program's memory.
//
//   const std::span<const std::byte> pieces[] = {header, body};
//   scela::Status status = channel.send(1, 7, pieces);
//   const std::span<std::byte> room[] = {head, rest};
//   status = channel.recv(1, 7, room);
//
// A message is the concatenation of its pieces. The receiver may have it in other pieces, or in
// one. Channel (scela/channel.h) and Communicator (scela/communicator.h) take lists of pieces. A
// list is a value, which refers to the program's array until the call returns.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela {

// A list of pieces, each a std::span<Byte>. Any array, vector or span of exactly this type converts
// to it: pieces that are sent are of const bytes. There may be no pieces, and a piece may be empty.
// It has no default value, so that `{}` in a call means a message of no bytes.
template <class Byte>
class PieceList {
 public:
  template <class Range>
  requires(std::ranges::contiguous_range<const Range>&& std::ranges::sized_range<const Range>&&
               std::same_as<std::ranges::range_value_t<const Range>, std::span<Byte>>)
      PieceList(const Range& range)
      : pieces_(std::ranges::data(range), std::ranges::size(range)) {}

  // Returns the program's array.
  //
  //   for (const std::span<const std::byte> piece : list.pieces()) total += piece.size();
  std::span<const std::span<Byte>> pieces() const { return pieces_; }

 private:
  std::span<const std::span<Byte>> pieces_;
};

using SendPieces = PieceList<const std::byte>;
using ReceivePieces = PieceList<std::byte>;

}  // namespace scela
#pragma GCC visibility pop
