// Threads of one program that use the adapter at once.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/e2e/hca/verbs_program.h"

namespace threads_test {

using namespace scela::test;

TEST_CASE("hca threads: a completion queue is resized and destroyed while others are polled") {
  const Place place;
  Verbs verbs;
  std::atomic<bool> over{false};
  std::vector<std::thread> pollers;
  for (int i = 0; i < 4; ++i)
    pollers.emplace_back([cq = verbs.cq(), &over] {
      ibv_wc completion;
      while (!over.load())
        ibv_poll_cq(cq, 1, &completion);
    });
  for (int i = 0; i < 20; ++i) {
    ibv_cq* const cq = ibv_create_cq(verbs.context, 16, nullptr, nullptr, 0);
    REQUIRE(cq != nullptr);
    CHECK(ibv_resize_cq(cq, 64) == 0);
    CHECK(ibv_destroy_cq(cq) == 0);
  }
  over.store(true);
  for (std::thread& poller : pollers)
    poller.join();
}

}  // namespace threads_test
