/* What N ssh sessions cost at least: a command on each host by libssh, and nothing else.
 *
 *   ssh_floor WORKERS KEY ADDRESS... -- COMMAND
 *
 * WORKERS processes share the hosts; each opens one session after the other, runs the command and
 * copies its output. Nothing waits longer than it must: no Nagle's algorithm and no delayed
 * acknowledgement. Host keys are not checked and nothing is read from ~/.ssh: the least work that
 * gets the command run. The CPU time of all that runs meanwhile, over the cores, is the floor of
 * any launcher's wall time.
 */
#include <libssh/libssh.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int run_on(const char* address, ssh_key key, const char* command) {
  const int no = 0;
  const int yes = 1;
  char output[4096];
  ssh_session session = ssh_new();
  if (session == NULL) return 1;
  ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no);
  ssh_options_set(session, SSH_OPTIONS_HOST, address);
  ssh_options_set(session, SSH_OPTIONS_USER, "root");
  ssh_options_set(session, SSH_OPTIONS_NODELAY, &yes);
  ssh_options_set(session, SSH_OPTIONS_CIPHERS_C_S, "aes128-gcm@openssh.com");
  ssh_options_set(session, SSH_OPTIONS_CIPHERS_S_C, "aes128-gcm@openssh.com");
  int status = 1;
  ssh_channel channel = NULL;
  if (ssh_connect(session) == SSH_OK) {
    setsockopt(ssh_get_fd(session), IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof yes);
    channel = ssh_userauth_publickey(session, NULL, key) == SSH_AUTH_SUCCESS
                  ? ssh_channel_new(session)
                  : NULL;
  }
  if (channel != NULL && ssh_channel_open_session(channel) == SSH_OK &&
      ssh_channel_request_exec(channel, command) == SSH_OK) {
    for (;;) {
      const int got = ssh_channel_read(channel, output, sizeof output, 0);
      if (got <= 0) break;
      if (write(1, output, (size_t)got) != got) break;
    }
    status = ssh_channel_get_exit_status(channel);
  }
  if (status != 0) fprintf(stderr, "ssh_floor: %s: %s\n", address, ssh_get_error(session));
  ssh_channel_free(channel);
  ssh_disconnect(session);
  ssh_free(session);
  return status;
}

int main(int argc, char** argv) {
  if (argc < 6 || strcmp(argv[argc - 2], "--") != 0) {
    fprintf(stderr, "usage: ssh_floor WORKERS KEY ADDRESS... -- COMMAND\n");
    return 2;
  }
  const int workers = atoi(argv[1]);
  const int hosts = argc - 5;
  for (int worker = 0; worker < workers; ++worker) {
    if (fork() != 0) continue;
    ssh_key key = NULL;
    int failed = ssh_pki_import_privkey_file(argv[2], NULL, NULL, NULL, &key) != SSH_OK;
    for (int i = worker; i < hosts && !failed; i += workers) {
      failed = run_on(argv[3 + i], key, argv[argc - 1]);
    }
    _exit(failed);
  }
  int failed = 0;
  for (int status; wait(&status) > 0;)
    failed |= status;
  return failed != 0;
}
