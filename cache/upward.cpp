#include "cache/upward.h"

namespace scela::cache {

void Upward::pass(std::string_view key, std::string_view value, Stamp stamp) {
  if (store_.commit(key, value, stamp)) changed(key);
}

void Upward::trim() {
  if (limit_ > 0) store_.evict_to(limit_);
}

std::string Upward::take_release() {
  std::string out;
  for (const std::string& key : changed_) {
    if (const auto value = store_.find(key)) append_pair(out, key, *value, store_.stamp_of(key));
  }
  return out;
}

// A release renews copies only. An agent without a copy asks when it needs the pair.
void Upward::commit(std::string_view pairs) {
  for_each_stamped(pairs, [this](std::string_view key, std::string_view value, Stamp stamp) {
    if (store_.find(key)) store_.commit(key, value, stamp);
  });
  trim();
}

void Upward::fence_done(std::uint64_t taken) {
  changed_.clear();
  store_.settle(taken);
  trim();
}

Lookup Upward::get(std::string_view key, bool below) {
  if (below && store_.is_staged(key)) return {is_root() ? Found::absent : Found::elsewhere, {}};
  if (const auto value = store_.use(key)) return {Found::here, *value};
  return {is_root() ? Found::absent : Found::elsewhere, {}};
}

void Upward::answer_passes(std::string_view key, std::string_view value) {
  // A value that has come here meanwhile, by a put of this node or a release, is newer.
  if (!store_.find(key)) store_.commit(key, value);
  trim();
}

// Until a fence has passed behind it, the pair may be lost with an agent above. So it is held.
bool Hcs::put(std::string_view key, std::string_view value) {
  if (is_root()) {
    pass(key, value, 0);
    return false;
  }
  if (store().hold(key, value)) changed(key);
  trim();
  return true;
}

bool Hcs::put_from_child(std::string_view key, std::string_view value) {
  pass(key, value, 0);
  trim();
  return !is_root();
}

bool Hcma::put(std::string_view key, std::string_view value) {
  if (store().stage(key, value)) changed(key);
  return false;  // it travels in the fence's aggregate
}

void Hcma::aggregate_passes(std::string_view pairs) {
  for_each_stamped(pairs, [this](std::string_view key, std::string_view value, Stamp stamp) {
    pass(key, value, stamp);
  });
  trim();
}

}  // namespace scela::cache
