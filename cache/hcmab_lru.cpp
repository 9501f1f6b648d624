#include "cache/hcmab_lru.h"

#include <algorithm>

namespace scela::cache {

bool HcmabLru::put(std::string_view key, std::string_view value) {
  store_.stage(key, value);
  own_bytes_ += key.size() + value.size();
  return false;  // it travels in the fence's aggregate
}

void HcmabLru::commit(std::string_view pairs) {
  for_each_pair(pairs, [this](std::string_view key, std::string_view value) {
    store_.commit(key, value);
    stage_bytes_ += key.size() + value.size();
  });
  largest_stage_ = std::max(largest_stage_, stage_bytes_);
  trim();
}

void HcmabLru::fence_done(std::uint64_t taken) {
  stage_bytes_ = 0;
  own_bytes_ = 0;
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
  if (!store_.find(key)) store_.commit(key, value);  // else it is newer
  trim();
}

}  // namespace scela::cache
