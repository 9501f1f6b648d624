#include "tests/sim/counting_policy.h"

#include <utility>

namespace scela::sim {

using cache::Found;
using cache::Lookup;
using cache::PolicyKind;
using cache::Usage;

Usage SharedTable::add(std::string_view pairs) {
  // Longer than any head of a pair that differs in its key.
  constexpr std::size_t kHead = 80;
  std::string name = std::to_string(pairs.size()) + ':';
  name += pairs.substr(0, kHead);
  const auto [at, fresh] = pieces_.try_emplace(std::move(name));
  if (!fresh) return at->second;
  Usage& amount = at->second;
  cache::for_each_pair(pairs, [&](std::string_view key, std::string_view value) {
    values_.emplace(key, value);
    ++amount.pairs;
    amount.bytes += key.size() + value.size();
  });
  return amount;
}

const std::string* SharedTable::find(std::string_view key) const {
  const auto at = values_.find(std::string(key));
  return at == values_.end() ? nullptr : &at->second;
}

namespace {

class CountingPolicy final : public cache::Policy {
 public:
  CountingPolicy(PolicyKind kind, const cache::Place& place, SharedTable& table)
      : own_(cache::make_policy(kind, place)),
        keeps_stages_(kind == PolicyKind::hcmab),
        table_(table) {}

  bool put(std::string_view key, std::string_view value) override { return own_->put(key, value); }
  bool put_from_child(std::string_view key, std::string_view value) override {
    return own_->put_from_child(key, value);
  }
  std::string take_stage() override { return own_->take_stage(); }
  void aggregate_passes(std::string_view pairs) override { own_->aggregate_passes(pairs); }
  bool wants_release() const override { return own_->wants_release(); }
  bool release_carries_pairs() const override { return own_->release_carries_pairs(); }
  std::string take_release() override { return own_->take_release(); }
  // Own pairs come back with the release, which is when they are counted.
  void commit(std::string_view pairs) override {
    const Usage amount = table_.add(pairs);
    stage_.pairs += amount.pairs;
    stage_.bytes += amount.bytes;
  }
  void fence_done(std::uint64_t taken) override {
    own_->fence_done(taken);
    if (keeps_stages_) {
      held_.pairs += stage_.pairs;
      held_.bytes += stage_.bytes;
    } else {
      held_ = stage_;
    }
    stage_ = {};
  }
  void group_fence_done(std::uint64_t taken) override { own_->group_fence_done(taken); }
  void evict_no_more() override { own_->evict_no_more(); }
  Lookup get(std::string_view key, bool below) override {
    if (const std::string* value = table_.find(key)) return {Found::here, *value};
    return own_->get(key, below);
  }
  void answer_passes(std::string_view key, std::string_view value) override {
    own_->answer_passes(key, value);
  }
  cache::Store& table() override { return own_->table(); }
  Usage usage() const override { return held_; }

 private:
  std::unique_ptr<cache::Policy> own_;
  bool keeps_stages_;
  SharedTable& table_;
  Usage stage_;
  Usage held_;
};

}  // namespace

std::unique_ptr<cache::Policy> make_counting_policy(PolicyKind kind, const cache::Place& place,
                                                    SharedTable& table) {
  if (kind != PolicyKind::hcmab && kind != PolicyKind::hcmab_lru) return nullptr;
  return std::make_unique<CountingPolicy>(kind, place, table);
}

}  // namespace scela::sim
