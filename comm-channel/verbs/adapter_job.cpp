// Tells the adapter about its job if no agent of ScELA has told it.
#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "comm-channel/verbs/factory.h"
#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::channel::verbs {

bool needs_job(const Symbols& symbols) {
  const char* const socket = std::getenv("SCELA_HCA_SOCKET");
  return symbols.is_adapter && (socket == nullptr || *socket == '\0');
}

Result<void> draw(std::span<unsigned char> secret) {
  const ssize_t got = retry([&] { return ::getrandom(secret.data(), secret.size(), 0); });
  if (got != static_cast<ssize_t>(secret.size()))
    return fail(os_error(ErrorKind::io, "draw a secret of the job", errno));
  return {};
}

Result<void> join_job(const Symbols& symbols, const std::string& job, const JobKey& key, int node,
                      int nodes) {
  scela_hca_job said{};
  said.name = job.c_str();
  static_assert(sizeof said.key == std::tuple_size_v<JobKey>);
  std::memcpy(said.key, key.data(), key.size());
  said.node = static_cast<std::uint32_t>(node);
  said.nodes = static_cast<std::uint32_t>(nodes);
  const int error = symbols.scela_hca_join == nullptr ? ENOSYS : symbols.scela_hca_join(&said);
  if (error == 0) return {};
  std::string hint = "see what the adapter says on the standard error";
  if (error == EBUSY) hint = "open the channel before anything else opens the device";
  if (error == EEXIST) hint = "the engine of this node serves another job: set SCELA_HCA_SOCKET";
  return fail(Error{ErrorKind::io,
                    cat("tell the adapter of job ", job, ", node ", node, " of ", nodes), "",
                    errno_text(error), std::move(hint)});
}

}  // namespace scela::channel::verbs
