// The most bytes of one read of output of a rank. The shell reads by it (nla/ranks), and the credit
// of links is counted in it (nla/core/io/streams.h). It holds one constant.
#pragma once

#include <cstddef>

namespace scela::nla {

// Fifteen pages of a pipe. With its head and in TLS records a piece leaves in one TCP segment; the
// kernel makes segments of up to about 65,000 bytes. Larger: the end of each piece is a segment of
// its own, which costs as much processor time as a long one. Smaller: more reads, messages and
// segments for each megabyte.
inline constexpr std::size_t kOutputPiece = std::size_t{60} * 1024;

}  // namespace scela::nla
