// Runs a program as an unprivileged user and, if wanted, under a filter with which the kernel
// refuses process_vm_readv and process_vm_writev, as a container's filter does.
//
// usage: unprivileged [--refuse-transfers] COMMAND...
//
// If root starts it, it changes to the user kNobody; else it keeps its user. The command is killed
// when the process that started this ends.
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kNobody = 65534 };

static int refuse_transfers(void) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

// Returns true if the kernel refuses the calls: a filter that lets them pass would prove nothing.
static int are_refused(void) {
  char from = 1, to = 0;
  const struct iovec here = {&to, 1}, there = {&from, 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == -1 && errno == EPERM &&
         process_vm_writev(getpid(), &here, 1, &there, 1, 0) == -1 && errno == EPERM;
}

int main(int argc, char** argv) {
  int at = 1;
  const int refuses = argc > 1 && strcmp(argv[1], "--refuse-transfers") == 0;
  at += refuses;
  if (at >= argc) {
    fprintf(stderr, "usage: unprivileged [--refuse-transfers] COMMAND...\n");
    return 2;
  }
  if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
    perror("unprivileged: become nobody");
    return 125;
  }
  // Whatever ends the starter ends this process. A change of the user would take the request back.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    perror("unprivileged: end with who started it");
    return 125;
  }
  if (refuses && (refuse_transfers() != 0 || !are_refused())) {
    perror("unprivileged: refuse transfers");
    return 125;
  }
  execvp(argv[at], argv + at);
  perror(argv[at]);
  return 127;
}
