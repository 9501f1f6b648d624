#include "nla/dial/dial_credential.h"

#include <munge.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace scela::nla {

namespace {

struct Destroy {
  void operator()(munge_ctx_t context) const { ::munge_ctx_destroy(context); }
};
using Context = std::unique_ptr<munge_ctx, Destroy>;

// libmunge tries for half a second to connect to a socket that is not there, so that is seen first.
Context make_context(const char* socket) {
  if (::access(socket, R_OK | W_OK) != 0) return nullptr;
  Context context(::munge_ctx_create());
  if (context && ::munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS)
    return nullptr;
  return context;
}

// munged gives the payload along with these errors.
bool has_payload(munge_err_t result) {
  return result == EMUNGE_SUCCESS || result == EMUNGE_CRED_EXPIRED ||
         result == EMUNGE_CRED_REWOUND || result == EMUNGE_CRED_REPLAYED;
}

}  // namespace

std::string seal_dial_secret(std::string_view secret, const char* socket) {
  const Context context = make_context(socket);
  // The configuration of munged may be to encrypt nothing.
  if (!context ||
      ::munge_ctx_set(context.get(), MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128) !=
          EMUNGE_SUCCESS ||
      ::munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, ::geteuid()) != EMUNGE_SUCCESS)
    return {};
  char* made = nullptr;
  const munge_err_t result =
      ::munge_encode(&made, context.get(), secret.data(), static_cast<int>(secret.size()));
  const std::string credential = result == EMUNGE_SUCCESS ? made : "";
  ::free(made);
  return credential;
}

std::string open_dial_credential(const std::string& credential, const char* socket) {
  const Context context = make_context(socket);
  if (!context) return {};
  void* payload = nullptr;
  int size = 0;
  uid_t owner = 0;
  const munge_err_t result =
      ::munge_decode(credential.c_str(), context.get(), &payload, &size, &owner, nullptr);
  std::string secret;
  if (payload != nullptr && has_payload(result) && owner == ::geteuid())
    secret.assign(static_cast<const char*>(payload), static_cast<std::size_t>(size));
  if (payload != nullptr) ::explicit_bzero(payload, static_cast<std::size_t>(size));
  ::free(payload);
  return secret;
}

}  // namespace scela::nla
