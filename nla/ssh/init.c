// Debian's libssh.a initializes itself, and OpenSSL for it, before main(). That takes an agent 0.09
// ms, a tenth of its start, and most agents open no ssh session. This file takes the place of that
// part of libssh, so that it is initialized when ssh_init() is called (nla/spawn/ssh). Nothing is
// given up at the end: the process ends. Used from one thread.

#include <libssh/libssh.h>
#include <stdbool.h>

// Parts of libssh, which its headers do not show. Each returns 0, or -1 for an error.
int ssh_threads_init(void);
int ssh_crypto_init(void);
int ssh_dh_init(void);
int ssh_socket_init(void);
bool is_ssh_initialized(void);

static bool initialized;

int ssh_init(void) {
  if (initialized) return SSH_OK;
  if (ssh_threads_init() != 0 || ssh_crypto_init() != 0 || ssh_dh_init() != 0 ||
      ssh_socket_init() != 0)
    return SSH_ERROR;
  initialized = true;
  return SSH_OK;
}

int ssh_finalize(void) {
  return SSH_OK;
}

bool is_ssh_initialized(void) {
  return initialized;
}
