// The keys a process offers, and who may use them first.

#include <libssh/libssh.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/core/text.h"
#include "nla/spawn/ssh_identities.h"

namespace scela::nla {

void SshIdentities::load(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    ssh_key raw = nullptr;
    // An empty passphrase instead of a question at the terminal.
    const int got = ::ssh_pki_import_privkey_file(file.c_str(), "", nullptr, nullptr, &raw);
    if (got != SSH_OK) {
      if (got == SSH_EOF) continue;  // no such file
      skipped_ += cat(skipped_.empty() ? "" : "; ", file,
                      ": has a passphrase, or is no private key (an ssh-agent can hold it)");
      continue;
    }
    const auto own = [](ssh_key key) {
      return std::shared_ptr<ssh_key_struct>(key, ::ssh_key_free);
    };
    const auto key = own(raw);
    const std::string certificate = file + "-cert.pub";
    if (::access(certificate.c_str(), R_OK) == 0) {
      ssh_key cert = nullptr;
      if (::ssh_pki_import_cert_file(certificate.c_str(), &cert) == SSH_OK) {
        const auto owned = own(cert);
        const auto with = own(::ssh_key_dup(key.get()));
        if (with && ::ssh_pki_copy_cert_to_privkey(cert, with.get()) == SSH_OK) {
          keys_.push_back({with, certificate});
        }
      }
    }
    keys_.push_back({key, file});
  }
}

bool SshIdentities::empty() const {
  return keys_.empty() && !has_agent();
}

std::vector<std::string> default_identities() {
  std::vector<std::string> out;
  const char* home = std::getenv("HOME");
  if (home == nullptr) return out;
  for (const char* name : {"id_rsa", "id_ecdsa", "id_ed25519"}) {
    std::string path = cat(home, "/.ssh/", name);
    if (::access(path.c_str(), R_OK) == 0) out.push_back(std::move(path));
  }
  // The cheapest to sign with first.
  std::reverse(out.begin(), out.end());
  return out;
}

void AuthGate::enter(std::function<void(bool)> go) {
  if (closed_) return go(false);
  if (open_ || !std::exchange(trying_, true)) return go(true);
  waiting_.push_back(std::move(go));
}

void AuthGate::answer(bool accepted) {
  if (open_ || closed_) return;
  (accepted ? open_ : closed_) = true;
  release(accepted);
}

void AuthGate::left() {
  if (open_ || closed_ || !std::exchange(trying_, false) || waiting_.empty()) return;
  trying_ = true;
  auto next = std::move(waiting_.front());
  waiting_.erase(waiting_.begin());
  next(true);
}

void AuthGate::release(bool go) {
  for (auto& one : std::exchange(waiting_, {}))
    one(go);
}

}  // namespace scela::nla
