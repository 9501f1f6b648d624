/* What the benchmark's client and no-op need of a system, with or without the C library.
 *
 * With SCELA_BARE there is no C library in the program at all. Before main, glibc asks the
 * processor for its caches with over a hundred CPUID instructions, and in a virtual machine each
 * traps into the hypervisor: that costs more than all the rest of starting a small process (half a
 * millisecond against 0.1 on the machine of docs/benchmarks.md), the same under every launcher, and
 * so hides what the launcher costs.
 *
 * Calls return as the kernel does: a negative number is minus errno. x86-64 only when bare.
 */
#pragma once

#include <stddef.h>

#ifdef SCELA_BARE

#include <asm/unistd.h>

int main(int argc, char** argv);

static char** tiny_environment;

static long tiny_call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
}
static inline long tiny_write(int fd, const void* bytes, size_t length) {
  return tiny_call(__NR_write, fd, (long)bytes, (long)length);
}
static inline long tiny_read(int fd, void* bytes, size_t length) {
  return tiny_call(__NR_read, fd, (long)bytes, (long)length);
}
static inline void tiny_exit(int code) {
  for (;;)
    tiny_call(__NR_exit_group, code, 0, 0);
}
static inline long long tiny_now_ns(void) {
  long long t[2];
  tiny_call(__NR_clock_gettime, 1 /* CLOCK_MONOTONIC */, (long)t, 0);
  return t[0] * 1000000000 + t[1];
}
static inline void tiny_sleep_ms(int ms) {
  long long t[2] = {ms / 1000, (long long)(ms % 1000) * 1000000};
  tiny_call(__NR_nanosleep, (long)t, 0, 0);
}

/* The kernel leaves argc, the arguments and the environment on the stack. */
__attribute__((used)) static void tiny_start(long* stack) {
  char** argv = (char**)(stack + 1);
  tiny_environment = argv + *stack + 1;
  tiny_exit(main((int)*stack, argv));
}
__asm__(
    ".globl _start\n_start: xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call tiny_start\n");

#else

#include <errno.h>
#include <time.h>
#include <unistd.h>

extern char** environ;
#define tiny_environment environ

static inline long tiny_write(int fd, const void* bytes, size_t length) {
  const long n = write(fd, bytes, length);
  return n < 0 ? -errno : n;
}
static inline long tiny_read(int fd, void* bytes, size_t length) {
  const long n = read(fd, bytes, length);
  return n < 0 ? -errno : n;
}
static inline void tiny_exit(int code) {
  _exit(code);
}
static inline long long tiny_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static inline void tiny_sleep_ms(int ms) {
  const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
  nanosleep(&t, NULL);
}

#endif
