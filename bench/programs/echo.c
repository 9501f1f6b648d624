/* What it costs to ask and be answered over socket pairs: the floor of gets by a wire protocol.
 *
 *   echo [--servers N] [--clients N] [--requests N]
 *
 * Each server waits for its clients by epoll and answers each request with as many bytes as a get's
 * answer has, read and written at once, without looking at it; each client sends its next request
 * when it has the answer. Prints the microseconds from the word to begin until the last client has
 * its last answer. Exit status 0, or 2 with one line on standard error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A get of bench/programs/pmi_exchange.c and its answer. */
enum { kRequest = 56, kAnswer = 104, kMax = 64 };

static void die(const char* what) {
  perror(what);
  _exit(2);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* `start` ends when all may begin; `done` is held open until this client is. */
static void ask(int fd, int start, int requests) {
  char bytes[kAnswer] = {0};
  if (read(start, bytes, 1) != 0) die("read");
  for (int i = 0; i < requests; ++i) {
    if (write(fd, bytes, kRequest) != kRequest) die("write");
    if (read(fd, bytes, kAnswer) != kAnswer) die("read");
  }
  _exit(0);
}

static void serve(const int* fds, int clients) {
  const int set = epoll_create1(0);
  if (set < 0) die("epoll_create1");
  for (int i = 0; i < clients; ++i) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[i]};
    if (epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &event) != 0) die("epoll_ctl");
  }
  for (int left = clients; left > 0;) {
    struct epoll_event events[kMax];
    const int ready = epoll_wait(set, events, kMax, -1);
    for (int i = 0; i < ready; ++i) {
      char bytes[kAnswer] = {0};
      const ssize_t got = read(events[i].data.fd, bytes, sizeof bytes);
      if (got <= 0) {
        close(events[i].data.fd);
        --left;
      } else if (write(events[i].data.fd, bytes, kAnswer) != kAnswer) {
        die("write");
      }
    }
  }
  _exit(0);
}

static void start_server(int clients, int requests, const int start[2], const int done[2]) {
  int fds[kMax];
  for (int i = 0; i < clients; ++i) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) die("socketpair");
    const pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) {
      for (int j = 0; j < i; ++j)
        close(fds[j]);
      close(pair[0]);
      close(start[1]);
      ask(pair[1], start[0], requests);
    }
    close(pair[1]);
    fds[i] = pair[0];
  }
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    close(start[1]);
    close(done[1]);
    serve(fds, clients);
  }
  for (int i = 0; i < clients; ++i)
    close(fds[i]);
}

int main(int argc, char** argv) {
  int servers = 64, clients = 8, requests = 512;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--servers") == 0) servers = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--clients") == 0) clients = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--requests") == 0) requests = atoi(argv[i + 1]);
  }
  if (servers < 1 || servers > 1024 || clients < 1 || clients > kMax || requests < 1) {
    fputs("usage: echo [--servers N] [--clients N] [--requests N]\n", stderr);
    return 2;
  }
  int start[2], done[2];
  if (pipe(start) != 0 || pipe(done) != 0) die("pipe");
  for (int i = 0; i < servers; ++i)
    start_server(clients, requests, start, done);
  close(done[1]);
  const double before = now_us();
  close(start[1]);
  char byte;
  if (read(done[0], &byte, 1) != 0) die("read"); /* the last client has ended */
  const double took = now_us() - before;
  int status, failed = 0;
  while (wait(&status) > 0)
    failed |= status;
  if (failed != 0) {
    fputs("echo: a process failed\n", stderr);
    return 2;
  }
  printf("exchange us: %.1f get us: %.3f\n", took, took / requests);
  return 0;
}
