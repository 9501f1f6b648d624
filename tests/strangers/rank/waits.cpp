#include "tests/strangers/rank/waits.h"

#include <algorithm>
#include <span>

#include "tests/strangers/contents.h"

namespace strangers {
namespace {

using scela::Request;

}  // namespace

std::vector<Begun*> Waits::choose(const Step& step) const {
  const auto& begun = requests_.all();
  const auto drawn = [&](std::size_t i) {
    return mix(step.number, static_cast<std::uint64_t>(situation_.rank()),
               begun[i]->scene->step->number, i);
  };
  std::vector<std::pair<std::uint64_t, Begun*>> keyed;
  for (std::size_t i = 0; i < begun.size(); ++i)
    if (!step.some || drawn(i) % 2 == 0) keyed.emplace_back(drawn(i), begun[i].get());
  if (step.order == Order::random)
    std::ranges::stable_sort(keyed, {}, [](const auto& each) { return each.first; });
  if (step.order == Order::reverse) std::ranges::reverse(keyed);
  std::vector<Begun*> chosen;
  for (const auto& [key, each] : keyed)
    chosen.push_back(each);
  return chosen;
}

void Waits::wait(const Scene& scene) {
  requests_.forget_done();
  const std::vector<Begun*> chosen = choose(*scene.step);
  switch (scene.step->order) {
    case Order::forward:
    case Order::reverse:
    case Order::random:
      wait_in_order(chosen);
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
  requests_.forget_done();
}

void Waits::wait_in_order(const std::vector<Begun*>& chosen) {
  for (Begun* each : chosen)
    requests_.finish(*each);
}

void Waits::wait_by_tests(const std::vector<Begun*>& chosen) {
  const auto until = std::chrono::steady_clock::now() + situation_.patience();
  for (std::size_t left = chosen.size(); left > 0;) {
    for (Begun* each : chosen) {
      if (each->done) continue;
      if (!each->over) each->over = each->request.test();
      if (!each->over) continue;
      requests_.conclude(*each);
      --left;
    }
    if (left > 0) requests_.move_all();
    if (std::chrono::steady_clock::now() > until)
      situation_.hangs("not over within the limit: " +
                       text_of(*(*std::ranges::find(chosen, false, &Begun::done))->scene->step));
  }
}

void Waits::wait_any(std::vector<Begun*> chosen) {
  while (!chosen.empty()) {
    const std::vector<Begun*> under_way = requests_.with_those_to_move(chosen);
    const auto requests = requests_of(under_way);
    const std::size_t found = scela::wait_any(requests, situation_.patience());
    if (found == requests.size()) situation_.hangs("none of several is over within the limit");
    under_way[found]->over = true;
    const auto at = std::find(chosen.begin(), chosen.end(), under_way[found]);
    if (at == chosen.end()) continue;
    requests_.conclude(**at);
    chosen.erase(at);
  }
}

void Waits::wait_all() {
  std::vector<Request*> requests;
  for (const auto& each : requests_.all())
    requests.push_back(&each->request);
  if (!scela::wait_all(requests, situation_.patience()))
    situation_.hangs("not all of several are over within the limit");
  for (const auto& each : requests_.all()) {
    situation_.expect(each->request.test(), "wait_all() has returned before this was over: " +
                                                text_of(*each->scene->step));
    each->over = true;
  }
  for (const auto& each : requests_.all())
    requests_.conclude(*each);
}

void Waits::wait_messages(const std::vector<Begun*>& chosen) {
  std::vector<Begun*> messages;
  for (Begun* each : chosen)
    if (!each->is_operation) messages.push_back(each);
  if (requests_.others_need_calls(-1)) return wait_any(messages);
  while (!messages.empty()) {
    const auto requests = requests_of(messages);
    const std::size_t found = scela::wait_any(requests, situation_.patience());
    if (found == requests.size())
      situation_.hangs("none of several messages is over within the limit");
    requests_.conclude(*messages[found]);
    messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(found));
  }
}

void Waits::wait_operations(const std::vector<Begun*>& chosen) {
  for (Begun* each : chosen)
    if (!each->is_operation) requests_.finish(*each);
  std::vector<Begun*> operations;
  std::vector<Request> requests;
  for (const auto& each : requests_.all())
    if (each->is_operation && !each->done) {
      operations.push_back(each.get());
      requests.push_back(std::move(each->request));
    }
  for (std::size_t left = operations.size(); left > 0; --left) {
    const std::size_t found = scela::wait_any(std::span(requests), situation_.patience());
    if (found == requests.size())
      situation_.hangs("none of several operations is over within the limit");
    situation_.expect(!operations[found]->done,
                      "wait_any() finds an operation that has been waited for");
    operations[found]->request = std::move(requests[found]);
    requests_.conclude(*operations[found]);
    requests[found] = std::move(operations[found]->request);
  }
}

}  // namespace strangers
