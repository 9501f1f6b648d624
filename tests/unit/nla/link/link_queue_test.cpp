#include "nla/link/link_queue.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/core/random.h"

namespace link_queue_test {

using namespace scela;
using namespace scela::nla;

namespace {

Encoded message(std::string head, std::string tail = {}) {
  return {std::move(head), Chunk(std::move(tail))};
}

std::string gathered(const LinkQueue& queue, int max = 64) {
  std::vector<iovec> parts(static_cast<std::size_t>(max));
  const int count = queue.gather(parts.data(), max);
  std::string out;
  for (int i = 0; i < count; ++i) {
    const iovec& part = parts[static_cast<std::size_t>(i)];
    out.append(static_cast<const char*>(part.iov_base), part.iov_len);
  }
  return out;
}

}  // namespace

TEST_CASE("frames leave a link's queue in order, however few bytes the stream takes") {
  Random random(6);
  LinkQueue queue;
  std::string expected;
  std::string got;
  for (int step = 0; step < 3000; ++step) {
    if (random.chance(1, 2)) {
      const std::string head(1 + random.below(4), static_cast<char>('a' + step % 26));
      const std::string tail(random.below(6), static_cast<char>('A' + step % 26));
      expected += head + tail;
      queue.add(message(head, tail));
    } else {
      const std::string next = gathered(queue, 1 + static_cast<int>(random.below(5)));
      REQUIRE(next.empty() == queue.empty());
      const std::size_t size = random.below(next.size() + 1);
      got += next.substr(0, size);
      REQUIRE_FALSE(queue.wrote(size));
    }
    REQUIRE(queue.bytes() == expected.size() - got.size());
  }
  CHECK(expected.starts_with(got));
  queue.clear();
  CHECK(queue.empty());
  CHECK(queue.bytes() == 0);
  CHECK(gathered(queue).empty());
}

TEST_CASE("messages that are held follow the change, and each stream gets its own bytes") {
  LinkQueue queue;
  queue.hold();
  queue.add(message("held"));
  CHECK(queue.empty());
  CHECK(queue.bytes() == 4);
  queue.add_link_frame("beat");
  CHECK(gathered(queue) == "beat");
  queue.add_change("change");
  queue.add(message("more"));
  CHECK(queue.bytes() == 18);

  CHECK(gathered(queue) == "beatchange");
  CHECK_FALSE(queue.wrote(6));
  CHECK(gathered(queue) == "ange");
  CHECK(queue.wrote(4));
  CHECK(gathered(queue) == "heldmore");
  CHECK_FALSE(queue.wrote(8));
  CHECK(queue.empty());
}

}  // namespace link_queue_test
