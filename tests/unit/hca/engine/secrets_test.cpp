// Memory that has held a key is wiped before it is given back: whoever reads what a process leaves
// behind finds none.
#include <malloc.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/core/text.h"
#include "hca/engine/fabric.h"
#include "hca/engine/peer_greeting.h"

namespace {

// What is looked for in memory that is given back, and how often it was found.
constexpr std::size_t kPiece = 16;
std::array<std::array<char, kPiece>, 4> pieces;
std::atomic<std::size_t> watched{0};
std::atomic<int> found{0};

void look(const void* block) {
  const std::size_t count = watched.load();
  if (count == 0 || block == nullptr) return;
  const std::size_t bytes = ::malloc_usable_size(const_cast<void*>(block));
  for (std::size_t i = 0; i < count; ++i)
    if (::memmem(block, bytes, pieces[i].data(), kPiece) != nullptr) ++found;
}

// From now until the end of this.
class Watch {
 public:
  explicit Watch(std::initializer_list<std::string_view> secrets) {
    found = 0;
    std::size_t count = 0;
    for (const std::string_view secret : secrets)
      std::memcpy(pieces[count++].data(), secret.data(), kPiece);
    watched = count;
  }
  ~Watch() { watched = 0; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  int count() const { return found; }
};

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept {
  look(block);
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  look(block);
  std::free(block);
}

using namespace scela;
using namespace scela::hca;

namespace {

constexpr const char* kHex = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210";
constexpr const char* kKey =
    "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
    "\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10";
const std::string_view kKeyView(kKey, 32);

std::string told(const char* more = "") {
  return cat("job j\nnode 1\nnodes 4\nlisten 127.0.0.1:0\nkey ", kHex, "\n", more);
}

}  // namespace

TEST_CASE("a key that is given back is noticed, so that the other tests see something") {
  Watch watch({kKeyView});
  { const std::string copy(kKeyView); }
  CHECK(watch.count() == 1);
}

TEST_CASE("what is told of a job leaves no key behind, whether it is understood or not") {
  const std::string good = told(), bad = told("nonsense\n"),
                    impossible = told("peer 9 1.2.3.4:5\n");
  Watch watch({kKeyView});
  {
    auto record = parse_fabric_record(good);
    REQUIRE(record.has_value());
    FabricRecord copy = *record;
    CHECK_FALSE(parse_fabric_record(bad).has_value());
    CHECK_FALSE(parse_fabric_record(impossible).has_value());
    auto fabric = Fabric::listen(copy);
    REQUIRE(fabric.has_value());
    CHECK(fabric->is_of(*record));
    record->listen = *Endpoint::parse("192.0.2.1:1");  // nobody has it
    CHECK_FALSE(Fabric::listen(*record).has_value());
  }
  CHECK(watch.count() == 0);
}

TEST_CASE("a greeting leaves no key behind, nor what is made of it") {
  // The same drawn bytes make the same secrets: what is looked for is known beforehand.
  const auto drawn = [](char byte) { return std::string(Greeting::kDrawn, byte); };
  const Identity left{"j", std::string(kKeyView), 0, 4, 7, true};
  const Identity right{"j", std::string(kKeyView), 1, 4, 8, true};
  const auto greet = [&](auto&& look_at) {
    Greeting connects = Greeting::connecting(left, 1, 1, drawn('l'));
    Greeting accepts = Greeting::accepting(right, drawn('r'));
    accepts.take(connects.output());
    connects.take(accepts.output());
    accepts.take(connects.output());
    accepts.decide(Greeting::Verdict::welcome, 1);
    connects.take(accepts.output());
    auto secrets = connects.secrets();
    REQUIRE(secrets);
    look_at(*secrets);
    const SealKeys out(std::move(secrets->out), 1), in(std::move(secrets->in), 1);
  };
  std::array<std::string, 2> known;
  greet([&](const SealSecrets& secrets) { known = {secrets.out, secrets.in}; });
  const std::string common =
      common_part(std::string(kSecretBytes, 'l'), public_part(std::string(kSecretBytes, 'r')));
  Watch watch({kKeyView, known[0], known[1], common});
  greet([](const SealSecrets&) {});
  CHECK(watch.count() == 0);
}
