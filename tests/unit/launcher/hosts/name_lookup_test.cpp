#include "launcher/hosts/name_lookup.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace name_lookup_test {

using namespace scela;
using namespace std::chrono_literals;

TEST_CASE("numeric addresses are answered without a query") {
  const auto nobody = [](const NameQuery&) -> NameAnswer { return {"asked", {}, {}}; };
  const auto answers = look_up_names({{"10.0.0.1"}, {"::1"}, {"0:0::2"}}, {}, nobody);
  CHECK(answers[0].address == "10.0.0.1");
  CHECK(answers[1].address == "::1");
  CHECK(answers[2].address == "::2");
}

TEST_CASE("a name of this machine's own is found, of the family that is asked for") {
  const auto answers = look_up_names({{"localhost", AF_INET}});
  CHECK(answers[0].address == "127.0.0.1");
}

TEST_CASE("an unknown name is an answer with a reason and advice") {
  const auto answers = look_up_names({{"does-not-exist.invalid"}});
  CHECK(answers[0].address.empty());
  CHECK_FALSE(answers[0].why.empty());
  CHECK_FALSE(answers[0].hint.empty());
}

TEST_CASE("each name gets its own answer, from a bounded number of threads") {
  std::vector<NameQuery> queries;
  for (int i = 0; i < 200; ++i)
    queries.push_back({"n" + std::to_string(i)});
  std::atomic<int> at_once{0};
  std::atomic<int> most{0};
  NameLookupLimits limits;
  limits.threads = 3;
  const auto answers = look_up_names(queries, limits, [&](const NameQuery& query) {
    const int now = ++at_once;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    for (int i = 0; i < 50; ++i)
      std::this_thread::yield();  // room for more of them than there may be
    --at_once;
    return NameAnswer{"address of " + query.name, {}, {}};
  });
  for (std::size_t i = 0; i < queries.size(); ++i) {
    CHECK(answers[i].address == "address of " + queries[i].name);
  }
  CHECK(most <= 3);
}

TEST_CASE("a slow name does not keep the others waiting") {
  // The first name is answered only when the second one has been.
  std::mutex mutex;
  std::condition_variable changed;
  bool second_done = false;
  const auto answers = look_up_names({{"slow"}, {"fast"}}, {}, [&](const NameQuery& query) {
    std::unique_lock lock(mutex);
    if (query.name == "fast") {
      second_done = true;
      changed.notify_all();
    } else {
      changed.wait(lock, [&] { return second_done; });
    }
    return NameAnswer{query.name, {}, {}};
  });
  CHECK(answers[0].address == "slow");
}

TEST_CASE("a name service that never answers is an error when the time is over") {
  // Outlives the call, as the thread that waits in it does.
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    bool left = false;
  };
  const auto gate = std::make_shared<Gate>();
  NameLookupLimits limits;
  limits.timeout = 20ms;
  const auto answers = look_up_names({{"stuck"}}, limits, [gate](const NameQuery&) {
    std::unique_lock lock(gate->mutex);
    gate->changed.wait(lock, [&] { return gate->open; });
    gate->left = true;
    gate->changed.notify_all();
    return NameAnswer{"late", {}, {}};
  });
  CHECK(answers[0].address.empty());
  CHECK(answers[0].why == "no answer within 20 ms");
  std::unique_lock lock(gate->mutex);
  gate->open = true;
  gate->changed.notify_all();
  gate->changed.wait(lock, [&] { return gate->left; });
}

}  // namespace name_lookup_test
