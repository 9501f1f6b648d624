#include "cache/policy.h"

#include "cache/hcmab.h"
#include "common/core/bytes.h"
#include "common/core/text.h"

namespace scela::cache {

std::string_view name_of(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::hcs:
      return "hcs";
    case PolicyKind::hcma:
      return "hcma";
    case PolicyKind::hcmab:
      return "hcmab";
    case PolicyKind::hcmab_lru:
      return "hcmab_lru";
  }
  return "unknown";
}

void append_pair(std::string& out, std::string_view key, std::string_view value) {
  ByteWriter pair;
  pair.text(key);
  pair.text(value);
  out += pair.bytes();
}

bool for_each_pair(std::string_view aggregate,
                   const std::function<void(std::string_view, std::string_view)>& each) {
  ByteReader in(aggregate);
  while (!in.done()) {
    const std::string_view key = in.text();
    const std::string_view value = in.text();
    if (!in.ok()) return false;
    each(key, value);
  }
  return true;
}

Result<std::unique_ptr<Policy>> make_policy(PolicyKind kind, bool /*is_root*/) {
  if (kind == PolicyKind::hcmab) return std::make_unique<Hcmab>();
  return fail(Error{ErrorKind::usage, cat("use the cache policy ", name_of(kind)), "",
                    "it is not built yet", "use --cache hcmab"});
}

}  // namespace scela::cache
