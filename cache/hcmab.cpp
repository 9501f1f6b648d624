#include "cache/hcmab.h"

namespace scela::cache {

bool Hcmab::put(std::string_view key, std::string_view value) {
  store_.stage(key, value);
  return false;  // it travels in the fence's aggregate
}

// Under this policy no agent sends single pairs; one that comes all the same is on its way to the
// root, where it would be of no use to anybody.
bool Hcmab::put_from_child(std::string_view, std::string_view) {
  return false;
}

std::string Hcmab::take_stage() {
  return store_.take_stage();
}

// Kept when the release brings it back, together with everybody else's: until then a pair of
// another node is not visible here.
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
