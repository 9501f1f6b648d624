#include "tests/sim/generator/payload.h"

#include "common/core/random.h"

namespace scela::sim {

namespace {

const Chunk& pattern() {
  static const Chunk chunk = [] {
    Random random(0x5ce1a);
    std::string bytes(kPattern, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random.next() >> 56);
    return Chunk(std::move(bytes));
  }();
  return chunk;
}

}  // namespace

std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + c * 0x165667b19e3779f9u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Chunk payload(std::uint64_t name, std::size_t size) {
  return pattern().slice(mix(name) % (kPattern / 2), size);
}

Chunk stream_bytes(std::uint64_t name, std::uint64_t offset, std::size_t size) {
  return pattern().slice((mix(name) + offset) % kPattern, size);
}

bool stream_has(std::uint64_t name, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const Chunk expected = stream_bytes(name, offset, bytes.size());
    if (bytes.substr(0, expected.size()) != expected.view()) return false;
    bytes.remove_prefix(expected.size());
    offset += expected.size();
  }
  return true;
}

}  // namespace scela::sim
