#include "tests/strangers/rank/rank_requests.h"

#include <algorithm>
#include <thread>

namespace strangers {

std::vector<scela::Request*> requests_of(const std::vector<Begun*>& all) {
  std::vector<scela::Request*> requests;
  for (Begun* each : all)
    requests.push_back(&each->request);
  return requests;
}

Begun& Requests::begin(const Scene& scene) {
  begun_.push_back(std::make_unique<Begun>());
  begun_.back()->scene = &scene;
  return *begun_.back();
}

bool Requests::others_need_calls(int family) const {
  return std::any_of(begun_.begin(), begun_.end(), [&](const auto& each) {
    return each->waits_for_calls() && each->family != family;
  });
}

std::vector<Begun*> Requests::with_those_to_move(std::vector<Begun*> chosen) const {
  const std::size_t first = chosen.size();
  for (const auto& each : begun_) {
    const auto end = chosen.begin() + static_cast<std::ptrdiff_t>(first);
    if (each->waits_for_calls() && std::find(chosen.begin(), end, each.get()) == end)
      chosen.push_back(each.get());
  }
  return chosen;
}

void Requests::finish(Begun& begun) {
  if (begun.done) return;
  if (others_need_calls(begun.is_operation ? begun.family : -1)) {
    const auto until = std::chrono::steady_clock::now() + situation_.patience();
    while (!begun.over) {
      const std::vector<Begun*> under_way = with_those_to_move({&begun});
      const auto requests = requests_of(under_way);
      const std::size_t found = scela::wait_any(requests, until - std::chrono::steady_clock::now());
      if (found == requests.size())
        situation_.hangs("not over within the limit: " + text_of(*begun.scene->step));
      under_way[found]->over = true;
    }
  }
  conclude(begun);
}

void Requests::conclude(Begun& begun) {
  if (begun.done) return;
  begun.done = begun.over = true;
  begun.judge(begun);
}

void Requests::finish_all() {
  for (std::size_t i = 0; i < begun_.size(); ++i)
    finish(*begun_[i]);
  forget_done();
}

void Requests::finish_other_families(int family) {
  for (std::size_t i = 0; i < begun_.size(); ++i)
    if (begun_[i]->needs_calls && begun_[i]->family != family) finish(*begun_[i]);
  forget_done();
}

void Requests::forget_done() {
  std::erase_if(begun_, [](const auto& each) { return each->done; });
}

void Requests::move_all() {
  for (const auto& each : begun_)
    if (each->waits_for_calls()) each->over = each->request.test();
  situation_.channel().progress();
  std::this_thread::yield();
}

}  // namespace strangers
