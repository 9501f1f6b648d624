#include "cache/hcmab.h"

namespace scela::cache {

bool Hcmab::put(std::string_view key, std::string_view value) {
  store_.stage(key, value);
  return false;  // it travels in the fence's aggregate
}

// Under this policy no agent sends single pairs. If one comes all the same, it is not forwarded:
// the root would have no use for it.
bool Hcmab::put_from_child(std::string_view, std::string_view) {
  return false;
}

std::string Hcmab::take_stage() {
  return store_.take_stage();
}

// The pairs are kept when the release brings them back, together with those of all nodes. Until
// then a pair of another node is not visible here.
void Hcmab::aggregate_passes(std::string_view) {}

void Hcmab::commit(std::string_view pairs) {
  store_.commit_all(pairs);
}

Lookup Hcmab::get(std::string_view key, bool) {
  const auto value = store_.find(key);
  if (!value) return {Found::absent, {}};
  return {Found::here, *value};
}

void Hcmab::answer_passes(std::string_view, std::string_view) {}

}  // namespace scela::cache
