#include "nla/dial/dial_credential.h"

#include <munge.h>
#include <string.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "common/crypto/hmac.h"
#include "common/os/process/blocked_signals.h"
#include "common/os/syscall.h"

namespace scela::nla {

namespace {

struct Destroy {
  void operator()(munge_ctx_t context) const { ::munge_ctx_destroy(context); }
};
using Context = std::unique_ptr<munge_ctx, Destroy>;

Context make_context(const std::string& socket) {
  Context context(::munge_ctx_create());
  if (context && ::munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str()) != EMUNGE_SUCCESS)
    return nullptr;
  return context;
}

// munged gives the payload along with these errors.
bool has_payload(munge_err_t result) {
  return result == EMUNGE_SUCCESS || result == EMUNGE_CRED_EXPIRED ||
         result == EMUNGE_CRED_REWOUND || result == EMUNGE_CRED_REPLAYED;
}

std::string seal(const std::string& secret, const std::string& socket) {
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
  std::string credential = result == EMUNGE_SUCCESS ? made : "";
  ::free(made);
  return credential;
}

std::string open(const std::string& credential, const std::string& socket) {
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

// Calls the function with the two texts in a thread, which writes the answer to the pipe. The
// thread has all signals blocked, also SIGPIPE, which libmunge does not avoid.
Fd ask(std::string (*function)(const std::string&, const std::string&), std::string text,
       std::string socket) {
  auto pipe = make_pipe();
  if (!pipe) return {};
  const BlockedSignals blocked;
  try {
    std::thread([function, text = std::move(text), socket = std::move(socket),
                 out = std::move(pipe->write)]() mutable {
      std::string answer = function(text, socket);
      static_cast<void>(!::write(out.get(), answer.data(), answer.size()));
      wipe(answer);
      wipe(text);
    }).detach();
  } catch (const std::system_error&) {
    return {};  // no thread can be made
  }
  return std::move(pipe->read);
}

}  // namespace

Fd seal_dial_secret(std::string secret, std::string socket) {
  return ask(seal, std::move(secret), std::move(socket));
}

Fd open_dial_credential(std::string credential, std::string socket) {
  return ask(open, std::move(credential), std::move(socket));
}

}  // namespace scela::nla
