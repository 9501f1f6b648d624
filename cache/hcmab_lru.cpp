#include "cache/hcmab_lru.h"

#include <algorithm>

namespace scela::cache {

bool HcmabLru::put(std::string_view key, std::string_view value) {
  store_.stage(key, value);
  own_bytes_ += key.size() + value.size();
  return false;  // it travels in the fence's aggregate
}

// The root has each value as soon as it comes, so what it adds to a release is no older than the
// rest.
void HcmabLru::aggregate_passes(std::string_view pairs) {
  if (!keeps_all_) return;
  for_each_stamped(pairs, [this](std::string_view key, std::string_view value, Stamp stamp) {
    if (store_.commit(key, value, stamp) && store_.clock() > 0) changed_.emplace(key);
  });
}

std::string HcmabLru::take_release() {
  std::string out;
  for (const std::string& key : changed_) {
    if (const auto value = store_.find(key)) append_pair(out, key, *value, store_.stamp_of(key));
  }
  return out;
}

void HcmabLru::commit(std::string_view pairs) {
  for_each_stamped(pairs, [this](std::string_view key, std::string_view value, Stamp stamp) {
    store_.commit(key, value, stamp);
    stage_bytes_ += key.size() + value.size();
  });
  largest_stage_ = std::max(largest_stage_, stage_bytes_);
  trim();
}

void HcmabLru::fence_done(std::uint64_t taken) {
  stage_bytes_ = 0;
  own_bytes_ = 0;
  changed_.clear();
  store_.settle(taken);
  trim();
}

void HcmabLru::trim() {
  if (keeps_all_) return;
  if (store_.evict_to(limit_ > 0 ? limit_ : largest_stage_ + own_bytes_)) evicted_ = true;
}

Lookup HcmabLru::get(std::string_view key, bool) {
  if (const auto value = store_.use(key)) return {Found::here, *value};
  return {evicted_ ? Found::elsewhere : Found::absent, {}};
}

void HcmabLru::answer_passes(std::string_view key, std::string_view value) {
  if (!store_.find(key)) store_.commit(key, value);  // else the pair here is newer
  trim();
}

}  // namespace scela::cache
