/* What unpack.c needs of a C library, by system calls of Linux on x86-64. The functions are those of
 * POSIX and Linux with the same names and prototypes, except that a call that fails returns a negative
 * number other than -1 and does not set errno. open() always takes a mode. There is no memory to
 * allocate: LZ4 refers to malloc(), but decompression does not call it.
 *
 * For unpack.c only, which is one program in one file. */
#pragma once

/* The names are those of the C library, and parameters have names of this tree.
 * NOLINTBEGIN(readability-identifier-naming,readability-inconsistent-declaration-parameter-name) */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static long bare_call(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

/* LZ4 copies mostly a few bytes, for which "rep movsb" takes longer to begin than to copy. */
void* memcpy(void* to, const void* from, size_t size) {
  char* at = to;
  const char* of = from;
  if (size > 256) {
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(of), "+c"(size) : : "memory");
    return to;
  }
  for (; size >= 8; size -= 8, at += 8, of += 8) {
    uint64_t word;
    __builtin_memcpy(&word, of, 8);
    __builtin_memcpy(at, &word, 8);
  }
  while (size-- > 0)
    *(volatile char*)at++ = *of++;
  return to;
}
void* memmove(void* to, const void* from, size_t size) {
  if ((uintptr_t)to - (uintptr_t)from >= size) return memcpy(to, from, size);
  for (volatile char* at = to; size-- > 0;)
    at[size] = ((const char*)from)[size];
  return to;
}
void* memset(void* to, int byte, size_t size) {
  void* at = to;
  __asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(byte) : "memory");
  return to;
}
int memcmp(const void* one, const void* other, size_t size) {
  const unsigned char *a = one, *b = other;
  for (; size > 0; --size, ++a, ++b) {
    if (*a != *b) return *a - *b;
  }
  return 0;
}
size_t strlen(const char* text) {
  size_t length = 0;
  while (text[length] != 0)
    ++length;
  return length;
}
char* strcpy(char* to, const char* from) {
  return memcpy(to, from, strlen(from) + 1);
}
char* strcat(char* to, const char* from) {
  strcpy(to + strlen(to), from);
  return to;
}

int strcmp(const char* one, const char* other) {
  return memcmp(one, other, strlen(one) < strlen(other) ? strlen(one) + 1 : strlen(other) + 1);
}
char* strrchr(const char* text, int wanted) {
  for (const char* at = text + strlen(text);; --at) {
    if (*at == wanted) return (char*)at;
    if (at == text) return NULL;
  }
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = va_arg(more, int);
  va_end(more);
  return (int)bare_call(SYS_open, (long)path, flags, mode, 0, 0, 0);
}
int close(int file) {
  return (int)bare_call(SYS_close, file, 0, 0, 0, 0, 0);
}
int unlink(const char* path) {
  return (int)bare_call(SYS_unlink, (long)path, 0, 0, 0, 0, 0);
}
int rename(const char* from, const char* to) {
  return (int)bare_call(SYS_rename, (long)from, (long)to, 0, 0, 0, 0);
}
pid_t getpid(void) {
  return (pid_t)bare_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}
ssize_t write(int file, const void* bytes, size_t size) {
  return bare_call(SYS_write, file, (long)bytes, (long)size, 0, 0, 0);
}
off_t lseek(int file, off_t offset, int whence) {
  return bare_call(SYS_lseek, file, offset, whence, 0, 0, 0);
}
int memfd_create(const char* name, unsigned flags) {
  return (int)bare_call(SYS_memfd_create, (long)name, flags, 0, 0, 0, 0);
}
void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  const long result = bare_call(SYS_mmap, (long)at, (long)size, protection, flags, file, offset);
  return result < 0 && result > -4096 ? MAP_FAILED : (void*)result;
}
int execve(const char* path, char* const argv[], char* const environment[]) {
  return (int)bare_call(SYS_execve, (long)path, (long)argv, (long)environment, 0, 0, 0);
}
void _exit(int status) {
  for (;;)
    bare_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

void* malloc(size_t size) {
  (void)size;
  return NULL;
}
void* calloc(size_t count, size_t size) {
  (void)count;
  (void)size;
  return NULL;
}
void free(void* memory) {
  (void)memory;
}
/* LZ4's library is compiled with a guard of the stack, whose value is at %fs:0x28. */
void __stack_chk_fail(void) {
  _exit(70);
}
static void bare_prepare(void) {
  static uint64_t guarded[8] = {0, 0, 0, 0, 0, 0x5ce1a5ce1a5ce1a5};
  bare_call(SYS_arch_prctl, 0x1002 /* ARCH_SET_FS */, (long)guarded, 0, 0, 0, 0);
}

/* The kernel leaves the number of arguments, the arguments and the environment on the stack. */
__asm__(
    ".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call scela_start\n");

/* NOLINTEND(readability-identifier-naming,readability-inconsistent-declaration-parameter-name) */
