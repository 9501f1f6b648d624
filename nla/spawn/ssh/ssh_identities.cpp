// The keys that a process offers, and the gate that its first session passes alone.

#include <libssh/libssh.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/core/text.h"
#include "nla/spawn/ssh/ssh_identities.h"

namespace scela::nla {

namespace {

std::shared_ptr<ssh_key_struct> own(ssh_key key) {
  return std::shared_ptr<ssh_key_struct>(key, ::ssh_key_free);
}

std::string blob_of(ssh_key key) {
  char* base64 = nullptr;
  if (::ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK) return {};
  const std::string_view text = base64;
  std::string out(text.size() / 4 * 3 + 3, '\0');
  const int size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  ::ssh_string_free_char(base64);
  out.resize(static_cast<std::size_t>(std::max(size, 0)));  // a multiple of 3: zeros may follow
  return out;
}

// Returns the rest of a blob after its first field, which begins with its length.
std::string_view skip_field(std::string_view blob) {
  if (blob.size() < 4) return {};
  std::size_t size = 4;
  for (std::size_t i = 0; i < 4; ++i)
    size += static_cast<std::size_t>(static_cast<unsigned char>(blob[i])) << (8 * (3 - i));
  return blob.substr(std::min(size, blob.size()));
}

// Returns true if the certificate is for the key. A certificate has its type and a nonce before the
// fields that a key has after its type. ssh_key_cmp() does not support certificates.
bool is_certificate_of(std::string_view certificate, std::string_view key) {
  constexpr std::size_t kPadding = 2;
  const std::string_view own = skip_field(key);
  return own.size() > kPadding &&
         skip_field(skip_field(certificate)).starts_with(own.substr(0, own.size() - kPadding));
}

}  // namespace

void SshIdentities::add_certificate(const Key& key, const std::string& file) {
  if (::access(file.c_str(), R_OK) != 0) return;
  ssh_key raw = nullptr;
  if (::ssh_pki_import_cert_file(file.c_str(), &raw) != SSH_OK) return;
  const auto certificate = own(raw);
  if (!is_certificate_of(blob_of(raw), blob_of(key.key.get()))) return;
  const auto with = own(::ssh_key_dup(key.key.get()));
  if (with && ::ssh_pki_copy_cert_to_privkey(raw, with.get()) == SSH_OK) {
    keys_.push_back({with, file});
  }
}

void SshIdentities::load(const std::vector<std::string>& files,
                         const std::vector<std::string>& certificates) {
  for (const std::string& file : files) {
    ssh_key raw = nullptr;
    // The empty passphrase avoids a question at the terminal.
    const int got = ::ssh_pki_import_privkey_file(file.c_str(), "", nullptr, nullptr, &raw);
    if (got != SSH_OK) {
      if (got == SSH_EOF) continue;  // no such file
      skipped_ += cat(skipped_.empty() ? "" : "; ", file,
                      ": has a passphrase, or is no private key (an ssh-agent can hold it)");
      continue;
    }
    const Key key{own(raw), file};
    add_certificate(key, file + "-cert.pub");
    for (const std::string& certificate : certificates)
      add_certificate(key, certificate);
    keys_.push_back(key);
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
  // The key that is cheapest to sign with comes first.
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace scela::nla
