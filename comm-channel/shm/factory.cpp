#include "comm-channel/shm/factory.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "common/core/text.h"

namespace scela::channel::shm {

Result<SharedSegment> make_segment(const Shape& shape) {
  auto made = Segment::make(shape);
  if (!made) return fail(std::move(made.error()));
  return std::make_shared<const Segment>(std::move(*made));
}

Result<SharedSegment> open_segment(const Place& place, const Shape& shape) {
  auto opened = Segment::open(place, shape);
  if (!opened) return fail(std::move(opened.error()));
  return std::make_shared<const Segment>(std::move(*opened));
}

std::string text_of(const Place& place) {
  return cat(place.pid, " ", place.fd, " ", place.nonce);
}

Result<Place> place_of(std::string_view text) {
  Place place;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  bool good = true;
  const auto number = [&](auto& value) {
    while (at != end && *at == ' ')
      ++at;
    const auto [rest, error] = std::from_chars(at, end, value);
    good = good && error == std::errc();
    at = rest;
  };
  number(place.pid);
  number(place.fd);
  number(place.nonce);
  if (good && at == end && place.pid > 0 && place.fd >= 0) return place;
  return fail(Error{ErrorKind::protocol, "find the shared memory of this node", "",
                    cat("what its first rank has told is not a place: '", text, "'"),
                    "run all ranks of a node with one version of libscela"});
}

Shape shape_for(std::uint32_t ranks, std::size_t payload) {
  Shape shape;
  shape.ranks = ranks;
  const std::size_t wanted = std::clamp<std::size_t>(payload, kLineBytes, std::size_t{1} << 20);
  shape.payload = static_cast<std::uint32_t>((wanted + kLineBytes - 1) / kLineBytes * kLineBytes);
  shape.box_bytes = std::max(shape.box_bytes, std::bit_ceil(shape.payload * 8));
  return shape;
}

}  // namespace scela::channel::shm
