// The job: whatever decodes is whole (every rank has an application and a node) and decodes again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "nla/core/wire/job.h"

using namespace scela;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto job = nla::decode_job({reinterpret_cast<const char*>(data), size});
  if (!job) return 0;
  const Rank ranks = job->map.size();
  for (Rank i = 0; i < std::min<Rank>(ranks, 100); ++i) {
    for (const Rank rank : {i, ranks - 1 - i}) {
      if (job->app_of(rank) >= job->apps.size() || !job->map.node_of(rank)) std::abort();
    }
  }
  const auto again = nla::decode_job(nla::encode(*job));
  if (!again || !(*again == *job)) std::abort();
  return 0;
}
