#include <libssh/libssh.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <utility>

#include "common/core/text.h"
#include "nla/spawn/kinds.h"
#include "nla/spawn/ssh/ssh_identities.h"
#include "nla/spawn/ssh/ssh_proxy.h"
#include "nla/spawn/ssh/ssh_session.h"

namespace scela::nla {

namespace {

SshAccess own_access() {
  SshAccess out;
  out.identities = default_identities();
  const char* socket = std::getenv("SSH_AUTH_SOCK");
  if (socket != nullptr) out.agent_socket = socket;
  return out;
}

class Sessions final : public SshSessions {
 public:
  explicit Sessions(boost::asio::io_context& io) : io_(io) {}

  std::unique_ptr<Executor> make(const Contact& contact, AuthGate& gate, const Settings& settings,
                                 const SpawnContext& context) override {
    const SshAccess access = context.access_of ? context.access_of(contact.name) : own_access();
    auto session = std::make_unique<SshSession>(io_, contact, identities_of(access), gate,
                                                std::chrono::milliseconds(settings.connect_ms));
    if (settings.forward_agent) session->forward_agent();
    if (!access.proxy.empty()) {
      // A proxy that cannot be started counts as a stream that ends at once.
      Result<Proxy> proxy = start_proxy(access.proxy);
      if (proxy) session->use_proxy(std::move(proxy->stream), std::move(proxy->errors));
    }
    if (context.met_host_key) {
      session->on_host_key([contact, met = context.met_host_key](const std::string& key) {
        return met(contact, key);
      });
    }
    return session;
  }

 private:
  const SshIdentities& identities_of(const SshAccess& access) {
    std::string key = access.agent_socket;
    for (const auto* files : {&access.identities, &access.certificates}) {
      key += cat("\n", files->size());
      for (const std::string& file : *files)
        key += cat("\n", file);
    }
    if (access.identities_only) key += "\nonly";
    std::unique_ptr<SshIdentities>& found = identities_[key];
    if (!found) {
      found = std::make_unique<SshIdentities>();
      found->load(access.identities, access.certificates);
      const bool enough = access.identities_only && found->skipped().empty();
      found->use_agent(access.agent_socket, !enough);
    }
    return *found;
  }

  boost::asio::io_context& io_;
  std::map<std::string, std::unique_ptr<SshIdentities>> identities_;
};

}  // namespace

std::unique_ptr<SshSessions> make_ssh_sessions(boost::asio::io_context& io) {
  // If that fails, the first session says why.
  static_cast<void>(::ssh_init());
  return std::make_unique<Sessions>(io);
}

}  // namespace scela::nla
