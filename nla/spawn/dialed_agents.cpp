#include "nla/spawn/dialed_agents.h"

#include <chrono>
#include <utility>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "nla/io/address.h"

namespace scela::nla {

void DialedAgents::connect(const Contact& contact, SharedKey key, std::uint32_t limit_ms,
                           Spawner::Done done) {
  const auto address = parse_address(contact.address, contact.port);
  const char* const why = !address                       ? "its address is malformed"
                          : context_.dial_secret.empty() ? "the secret of the job is not known here"
                          : context_.network == nullptr  ? "this agent has no TLS"
                                                         : nullptr;
  if (why != nullptr) return done(tl::unexpected(SpawnFailure{StartPhase::connect, why, false}));
  Attempt& attempt = attempts_[contact.name];
  attempt.done = std::move(done);
  attempt.connection = context_.network->connect_tls(
      io_, *address, contact.port, std::move(key), std::chrono::milliseconds(limit_ms),
      [this, name = contact.name](auto stream) {
        const auto at = attempts_.find(name);
        const auto over = std::make_shared<Attempt>(std::move(at->second));
        attempts_.erase(at);
        // Not now: the attempt is in the middle of a call.
        boost::asio::post(io_, [over] {});
        if (stream) return over->done(StartedAgent{std::move(*stream)});
        over->done(
            tl::unexpected(SpawnFailure{StartPhase::connect, std::move(stream.error()), false}));
      });
}

void DialedAgents::cancel(const std::string& name) {
  const auto at = attempts_.find(name);
  if (at == attempts_.end()) return;
  const Attempt over = std::move(at->second);
  attempts_.erase(at);
  over.done(tl::unexpected(SpawnFailure{StartPhase::connect, "cancelled", false}));
}

}  // namespace scela::nla
