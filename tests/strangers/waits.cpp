// Orders in which a rank waits for what it has begun.
#include <algorithm>
#include <span>
#include <thread>

#include "tests/strangers/rank.h"

namespace strangers {
namespace {

using scela::Request;

}  // namespace

void Rank::wait(const Scene& scene) {
  forget_done();
  const Step& step = *scene.step;
  const auto drawn = [&](std::size_t i) {
    return mix(step.number, static_cast<std::uint64_t>(rank_), begun_[i]->scene->step->number, i);
  };
  std::vector<std::pair<std::uint64_t, Begun*>> keyed;
  for (std::size_t i = 0; i < begun_.size(); ++i)
    if (!step.some || drawn(i) % 2 == 0) keyed.emplace_back(drawn(i), begun_[i].get());
  if (step.order == Order::random)
    std::ranges::stable_sort(keyed, {}, [](const auto& each) { return each.first; });
  if (step.order == Order::reverse) std::ranges::reverse(keyed);
  std::vector<Begun*> chosen;
  for (const auto& [key, each] : keyed)
    chosen.push_back(each);
  switch (step.order) {
    case Order::forward:
    case Order::reverse:
    case Order::random:
      for (Begun* each : chosen)
        finish(*each);
      break;
    case Order::test:
      wait_by_tests(chosen);
      break;
    case Order::any:
      wait_any(chosen);
      break;
    case Order::all:
      wait_all();
      break;
    case Order::messages:
      wait_messages(chosen);
      break;
    case Order::operations:
      wait_operations(chosen);
      break;
  }
  forget_done();
}

void Rank::wait_by_tests(const std::vector<Begun*>& chosen) {
  const auto until = std::chrono::steady_clock::now() + patience_;
  for (std::size_t left = chosen.size(); left > 0;) {
    for (Begun* each : chosen) {
      if (each->done) continue;
      if (!each->over) each->over = each->request.test();
      if (!each->over) continue;
      conclude(*each);
      --left;
    }
    if (left > 0) move_all();
    if (std::chrono::steady_clock::now() > until)
      hangs("not over within the limit: " +
            text_of(*(*std::ranges::find(chosen, false, &Begun::done))->scene->step));
  }
}

void Rank::wait_any(std::vector<Begun*> chosen) {
  while (!chosen.empty()) {
    std::vector<Begun*> under_way = chosen;
    for (const auto& each : begun_)
      if (each->needs_calls && !each->over && !each->done &&
          std::find(chosen.begin(), chosen.end(), each.get()) == chosen.end())
        under_way.push_back(each.get());
    std::vector<Request*> requests;
    for (Begun* each : under_way)
      requests.push_back(&each->request);
    const std::size_t found = scela::wait_any(requests, patience_);
    if (found == requests.size()) hangs("none of several is over within the limit");
    under_way[found]->over = true;
    const auto at = std::find(chosen.begin(), chosen.end(), under_way[found]);
    if (at == chosen.end()) continue;
    conclude(**at);
    chosen.erase(at);
  }
}

void Rank::wait_all() {
  std::vector<Request*> requests;
  for (const auto& each : begun_)
    requests.push_back(&each->request);
  if (!scela::wait_all(requests, patience_)) hangs("not all of several are over within the limit");
  for (const auto& each : begun_) {
    expect(each->request.test(),
           "wait_all() has returned before this was over: " + text_of(*each->scene->step));
    each->over = true;
  }
  for (const auto& each : begun_)
    conclude(*each);
}

// Waits for messages alone, which moves no operations.
void Rank::wait_messages(const std::vector<Begun*>& chosen) {
  std::vector<Request*> requests;
  std::vector<Begun*> messages;
  for (Begun* each : chosen)
    if (!each->is_operation) messages.push_back(each);
  if (others_need_calls(-1)) return wait_any(messages);
  while (!messages.empty()) {
    requests.clear();
    for (Begun* each : messages)
      requests.push_back(&each->request);
    const std::size_t found = scela::wait_any(requests, patience_);
    if (found == requests.size()) hangs("none of several messages is over within the limit");
    conclude(*messages[found]);
    messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(found));
  }
}

// Waits for all of them as for requests that stand side by side.
void Rank::wait_operations(const std::vector<Begun*>& chosen) {
  for (Begun* each : chosen)
    if (!each->is_operation) finish(*each);
  std::vector<Begun*> operations;
  std::vector<Request> requests;
  for (const auto& each : begun_)
    if (each->is_operation && !each->done) {
      operations.push_back(each.get());
      requests.push_back(std::move(each->request));
    }
  for (std::size_t left = operations.size(); left > 0; --left) {
    const std::size_t found = scela::wait_any(std::span(requests), patience_);
    if (found == requests.size()) hangs("none of several operations is over within the limit");
    expect(!operations[found]->done, "wait_any() finds an operation that has been waited for");
    operations[found]->request = std::move(requests[found]);
    conclude(*operations[found]);
    requests[found] = std::move(operations[found]->request);
  }
}

}  // namespace strangers
