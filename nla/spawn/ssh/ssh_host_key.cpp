#include "nla/spawn/ssh/ssh_host_key.h"

#include <libssh/libssh.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "common/core/hex.h"
#include "common/core/text.h"

namespace scela::nla {

namespace {

std::string digest_of(ssh_key key) {
  unsigned char* hash = nullptr;
  std::size_t size = 0;
  if (::ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) != 0) return {};
  std::string out = hex_digits(hash, size);
  ::ssh_clean_pubkey_hash(&hash);
  return out;
}

// Returns "SHA256:...", as ssh-keygen -l shows it.
std::string fingerprint(ssh_key key) {
  unsigned char* hash = nullptr;
  std::size_t size = 0;
  if (::ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) != 0) return {};
  char* text = ::ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, size);
  const std::string out = text == nullptr ? "" : text;
  ::ssh_string_free_char(text);
  ::ssh_clean_pubkey_hash(&hash);
  return out;
}

// Returns "ssh-ed25519 AAAA...", as known_hosts has it.
std::string public_text(ssh_key key) {
  char* base64 = nullptr;
  if (::ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK) return {};
  const char* curve = ::ssh_pki_key_ecdsa_name(key);
  const bool is_ecdsa = curve != nullptr && std::string_view(curve).starts_with("ecdsa");
  std::string out =
      cat(is_ecdsa ? curve : ::ssh_key_type_to_char(::ssh_key_type(key)), " ", base64);
  ::ssh_string_free_char(base64);
  return out;
}

}  // namespace

std::string host_key_algorithms(const Contact& contact) {
  std::string out;
  for (const HostKey& key : contact.keys) {
    const std::string more =
        key.type == "ssh-rsa" ? std::string("rsa-sha2-512,rsa-sha2-256") : key.type;
    if (out.find(more) == std::string::npos) out += cat(out.empty() ? "" : ",", more);
  }
  // A server that was installed anew may have a key of another type only.
  if (contact.any_key && !out.empty())
    out +=
        ",ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,"
        "rsa-sha2-512,rsa-sha2-256";
  return out;
}

std::string host_key_problem(ssh_session_struct* session, const Contact& contact,
                             const std::string& where,
                             const std::function<bool(const std::string& key)>& met) {
  ssh_key raw = nullptr;
  if (::ssh_get_server_publickey(session, &raw) != SSH_OK) return ::ssh_get_error(session);
  const std::unique_ptr<ssh_key_struct, void (*)(ssh_key)> key(raw, ::ssh_key_free);
  const std::string digest = digest_of(raw);
  const auto known = [&](const HostKey& one) { return one.digest == digest; };
  if (std::any_of(contact.keys.begin(), contact.keys.end(), known)) return {};
  if (!contact.any_key) {
    return cat("the key that ", where, " shows, ", fingerprint(raw),
               ", is not the known one (if it was installed anew, run 'ssh-keygen -R ",
               contact.name, "' and 'ssh ", contact.name,
               "'; if not, another host answers in its place)");
  }
  if (met && !met(public_text(raw))) {
    return cat("the key that ", where, " shows, ", fingerprint(raw),
               ", is marked @revoked in known_hosts");
  }
  return {};
}

}  // namespace scela::nla
