/* What the software adapter cannot be faster than: the least that its messages and copies cost on
 * this machine, without any of its work.
 *
 *   verbs_floor futex|sockets|tcp|copy|relayed [--bytes N] [--rounds N] [--cpus A,B,R]
 *
 * futex:    a token between two processes through a third, each of which sleeps in a futex
 * sockets:  N bytes between two processes through two others, over socket pairs
 * tcp:      N bytes between two processes over one loopback connection
 * copy:     N bytes into another process's memory (process_vm_writev)
 * relayed:  N bytes from one process's memory into another's by a third, 128 KiB at a time
 *           (process_vm_readv, process_vm_writev): what an adapter that maps neither does
 *
 * The two run on processors A and B, those between them on R; without --cpus wherever the system
 * puts them. Prints the median time of one way (of a round trip the half; of a copy the whole), the
 * first quartile and the least, in microseconds. Exit status 0, or 2 with one line on standard
 * error.
 */
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { warm_up = 20, piece_bytes = 128 << 10, max_bytes = 1 << 26 };

static size_t bytes = 8;
static int rounds = 1000;
static int cpus[3] = {-1, -1, -1};
static double* times;
static pid_t children[3];
static int child_count;

static void die(const char* what) {
  perror(what);
  for (int i = 0; i < child_count; ++i)
    kill(children[i], SIGKILL);
  exit(2);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void run_on(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) die("sched_setaffinity");
}

/* 0 in the child, which ends with its parent. */
static pid_t start(int cpu) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid > 0) {
    children[child_count++] = pid;
    return pid;
  }
  child_count = 0;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(2);
  run_on(cpu);
  return 0;
}

static void* memory(size_t size, int flags) {
  void* const made = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) die("mmap");
  memset(made, 1, size);
  return made;
}

/* A doorbell: whoever waits sleeps until it was rung once more. */
static void ring(atomic_uint* doorbell) {
  atomic_fetch_add(doorbell, 1);
  syscall(SYS_futex, doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void hear(atomic_uint* doorbell, unsigned* heard) {
  while (atomic_load(doorbell) == *heard)
    syscall(SYS_futex, doorbell, FUTEX_WAIT, *heard, NULL, NULL, 0);
  ++*heard;
}

static void by_futex(void) {
  struct doorbells {
    _Alignas(64) atomic_uint relay;
    _Alignas(64) atomic_uint a;
    _Alignas(64) atomic_uint b;
  };
  struct doorbells* const doorbells = memory(sizeof *doorbells, MAP_SHARED);
  memset(doorbells, 0, sizeof *doorbells);
  unsigned heard = 0;
  if (start(cpus[2]) == 0) {
    for (;;) {
      hear(&doorbells->relay, &heard);
      ring(heard % 2 == 1 ? &doorbells->b : &doorbells->a);
    }
  }
  if (start(cpus[1]) == 0) {
    for (;;) {
      hear(&doorbells->b, &heard);
      ring(&doorbells->relay);
    }
  }
  run_on(cpus[0]);
  for (int round = -warm_up; round < rounds; ++round) {
    const double before = now_us();
    ring(&doorbells->relay);
    hear(&doorbells->a, &heard);
    if (round >= 0) times[round] = (now_us() - before) / 2;
  }
}

static void send_all(int fd, const char* from) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t put = send(fd, from + done, bytes - done, MSG_NOSIGNAL);
    if (put <= 0) _exit(2);
    done += (size_t)put;
  }
}

static void receive_all(int fd, char* to) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = recv(fd, to + done, bytes - done, 0);
    if (got <= 0) _exit(2);
    done += (size_t)got;
  }
}

/* Both ways, in turn: what comes from the one goes to the other. */
static void pass_on(int from, int to, char* buffer) {
  for (;;) {
    receive_all(from, buffer);
    send_all(to, buffer);
    receive_all(to, buffer);
    send_all(from, buffer);
  }
}

static void send_back(int fd, char* buffer) {
  for (;;) {
    receive_all(fd, buffer);
    send_all(fd, buffer);
  }
}

static void ping(int fd, char* buffer) {
  run_on(cpus[0]);
  for (int round = -warm_up; round < rounds; ++round) {
    const double before = now_us();
    send_all(fd, buffer);
    receive_all(fd, buffer);
    if (round >= 0) times[round] = (now_us() - before) / 2;
  }
}

static void by_sockets(void) {
  char* const buffer = memory(bytes, MAP_PRIVATE);
  int links[3][2];
  for (int i = 0; i < 3; ++i)
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, links[i]) != 0) die("socketpair");
  for (int i = 0; i < 2; ++i)
    if (start(cpus[2]) == 0) pass_on(links[i][1], links[i + 1][0], buffer);
  if (start(cpus[1]) == 0) send_back(links[2][1], buffer);
  ping(links[0][0], buffer);
}

static void by_tcp(void) {
  char* const buffer = memory(bytes, MAP_PRIVATE);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  const int listening = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  if (listening < 0 || bind(listening, (struct sockaddr*)&address, size) != 0 ||
      listen(listening, 1) != 0 || getsockname(listening, (struct sockaddr*)&address, &size) != 0)
    die("listen");
  if (start(cpus[1]) == 0) {
    const int fd = accept(listening, NULL, NULL);
    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) _exit(2);
    send_back(fd, buffer);
  }
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, (struct sockaddr*)&address, size) != 0 ||
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
    die("connect");
  ping(fd, buffer);
}

static void transfer(int write_it, pid_t pid, char* here, char* there, size_t count) {
  const struct iovec own = {here, count}, other = {there, count};
  const ssize_t done = write_it ? process_vm_writev(pid, &own, 1, &other, 1, 0)
                                : process_vm_readv(pid, &own, 1, &other, 1, 0);
  if (done != (ssize_t)count) die(write_it ? "process_vm_writev" : "process_vm_readv");
}

/* Each child has touched a copy of its own of the buffer, at the same address. */
static void by_copies(int relayed) {
  char* const buffer = memory(bytes, MAP_PRIVATE);
  char* const piece = memory(piece_bytes, MAP_PRIVATE);
  int told[2];
  char byte = 0;
  if (pipe(told) != 0) die("pipe");
  for (int i = 0; i < 2; ++i) {
    if (start(cpus[i]) == 0) {
      memset(buffer, 2 + i, bytes);
      if (write(told[1], &byte, 1) != 1) _exit(2);
      for (;;)
        pause();
    }
    if (read(told[0], &byte, 1) != 1) die("read");
  }
  run_on(cpus[relayed ? 2 : 0]);
  for (int round = -warm_up; round < rounds; ++round) {
    const double before = now_us();
    if (!relayed) transfer(1, children[1], buffer, buffer, bytes);
    for (size_t done = 0; relayed && done < bytes; done += piece_bytes) {
      const size_t count = bytes - done < piece_bytes ? bytes - done : piece_bytes;
      transfer(0, children[0], piece, buffer + done, count);
      transfer(1, children[1], piece, buffer + done, count);
    }
    if (round >= 0) times[round] = now_us() - before;
  }
}

static int usage(void) {
  fputs(
      "usage: verbs_floor futex|sockets|tcp|copy|relayed [--bytes N] [--rounds N] [--cpus A,B,R]\n",
      stderr);
  return 2;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc % 2 != 0) return usage();
  for (int i = 2; i + 1 < argc; i += 2) {
    const char* const value = argv[i + 1];
    if (strcmp(argv[i], "--bytes") == 0)
      bytes = (size_t)atol(value);
    else if (strcmp(argv[i], "--rounds") == 0)
      rounds = atoi(value);
    else if (strcmp(argv[i], "--cpus") != 0 ||
             sscanf(value, "%d,%d,%d", &cpus[0], &cpus[1], &cpus[2]) != 3)
      return usage();
  }
  if (bytes < 1 || bytes > max_bytes || rounds < 1 || rounds > 1000000) return usage();
  times = calloc((size_t)rounds, sizeof *times);
  if (times == NULL) die("memory");
  const char* const what = argv[1];
  if (strcmp(what, "futex") == 0)
    by_futex();
  else if (strcmp(what, "sockets") == 0)
    by_sockets();
  else if (strcmp(what, "tcp") == 0)
    by_tcp();
  else if (strcmp(what, "copy") == 0 || strcmp(what, "relayed") == 0)
    by_copies(what[0] == 'r');
  else
    return usage();
  for (int i = 0; i < child_count; ++i)
    kill(children[i], SIGKILL);
  while (wait(NULL) > 0) {
  }
  qsort(times, (size_t)rounds, sizeof *times, by_value);
  printf("%s us: median %.2f quartile %.2f least %.2f of %d\n", what, times[rounds / 2],
         times[rounds / 4], times[0], rounds);
  return 0;
}
