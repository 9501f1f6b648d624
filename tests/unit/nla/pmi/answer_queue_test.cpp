#include "nla/pmi/answer_queue.h"

#include <catch2/catch.hpp>
#include <string>

#include "common/core/random.h"

namespace answer_queue_test {

using namespace scela;
using namespace scela::nla;

TEST_CASE("answers leave in order, in pieces of any size, and empty ones take no turn") {
  Random random(5);
  AnswerQueue queue;
  std::string expected;
  std::string got;
  for (int step = 0; step < 2000; ++step) {
    if (random.chance(1, 2)) {
      const std::string text(random.below(5), static_cast<char>('a' + step % 26));
      expected += text;
      queue.add(Chunk(text));
    } else if (!queue.empty()) {
      const std::string_view front = queue.front();
      const std::size_t size = random.below(front.size() + 1);
      got += front.substr(0, size);
      queue.take(size);
    }
    REQUIRE(queue.bytes() == expected.size() - got.size());
  }
  while (!queue.empty()) {
    got += queue.front();
    queue.take(queue.front().size());
  }
  CHECK(got == expected);
  CHECK(queue.bytes() == 0);
}

TEST_CASE("a cleared queue begins anew, also in the middle of an answer") {
  AnswerQueue queue;
  queue.add(Chunk(std::string("first")));
  queue.take(2);
  queue.clear();
  CHECK(queue.empty());
  CHECK(queue.bytes() == 0);
  queue.add(Chunk(std::string("second")));
  CHECK(queue.front() == "second");
}

}  // namespace answer_queue_test
