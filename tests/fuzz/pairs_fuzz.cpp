// Aggregates of key-value pairs: what a policy commits from any bytes is what it answers with.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "cache/policy.h"

using namespace scela::cache;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view aggregate(reinterpret_cast<const char*>(data), size);
  std::map<std::string, std::string, std::less<>> expected;
  std::string written;
  const bool whole = for_each_pair(aggregate, [&](std::string_view key, std::string_view value) {
    expected.insert_or_assign(std::string(key), std::string(value));
    append_pair(written, key, value);
  });
  // Pairs whose lengths are not written in the shortest way come back shorter.
  if (written.size() > size || (whole && written.empty() != aggregate.empty())) std::abort();

  auto policy = make_policy(PolicyKind::hcmab, false);
  (*policy)->commit(aggregate);
  if ((*policy)->usage().pairs != expected.size()) std::abort();
  for (const auto& [key, value] : expected) {
    const Lookup found = (*policy)->get(key);
    if (found.found != Found::here || found.value != value) std::abort();
  }
  return 0;
}
