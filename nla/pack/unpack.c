/* The first part of a package (package_format.h): unpacks the agent's executable and executes it with
 * the arguments that this program got, and with two more:
 *
 *   --package FD    an open descriptor of the package, which the agent sends on to other nodes
 *   --unlink FILE   only if the agent is in a file, which it then removes
 *
 * If the arguments have `--cached FILE`, the package is that file of the user's cache and
 * stays there. If they have `--store FILE`, the package gets that name once it is unpacked, and so is
 * in the cache. Otherwise the file of the package is removed. The agent is put into memory (memfd_create(2)), so
 * that the node needs no room in a file system for it. If the system does not execute memory, it is
 * put into a file beside the package.
 *
 * If that is not possible, the program prints the answer "refused" of nla/core/tree/remote_shell.h
 * and ends with status 69.
 *
 * On x86-64 the program has no C library (bare_x86_64.h), because a static one would be a third of
 * all bytes that are sent. */
#ifdef SCELA_BARE
#include "nla/pack/bare_x86_64.h"
#else
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <lz4.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "nla/pack/package_format.h"

enum { kUnavailable = 69, kMaxPath = 4096, kMaxArguments = 256 };

static const char kDamaged[] = "it was damaged on its way to the node";
static char* package_path;
static int is_cached;               /* the package stays where it is */
static const char* stored_path;     /* the name in the cache that the package gets, or NULL */
static const char* unfinished_path; /* a file that is removed if the agent is not executed */

/* Prints the reason and ends the program. A package that was sent is then not kept. */
static void refuse(const char* why) {
  if (unfinished_path != NULL) unlink(unfinished_path);
  if (package_path != NULL && !is_cached) unlink(package_path);
  static const char before[] = "\nSCELA-NLA refused the agent cannot be unpacked: ";
  if (write(1, before, sizeof before - 1) < 0 || write(1, why, strlen(why)) < 0 ||
      write(1, "\n", 1) < 0) {
    _exit(kUnavailable);
  }
  _exit(kUnavailable);
}

/* Writes the number in decimal and returns where it begins in `room`. */
static char* decimal(unsigned number, char room[12]) {
  char* at = room + 11;
  *at = 0;
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return at;
}

/* Writes the whole agent to the file. Returns 0 if the file does not take it. Ends the program if the
 * package is damaged; the digest of one in the cache was verified, so that its checksum is not. */
static int write_agent(int file, const char* package, const struct PackageTrailer* trailer) {
  static char block[SCELA_PACKAGE_BLOCK];
  const char* at = package + trailer->blocks_at;
  const char* const end = at + trailer->blocks_size;
  XXH64_state_t checksum;
  XXH64_reset(&checksum, 0);
  uint64_t whole = 0;
  for (uint32_t size; end - at > (long)sizeof size; at += size) {
    memcpy(&size, at, sizeof size);
    at += sizeof size;
    const int got = size > (size_t)(end - at)
                        ? -1
                        : LZ4_decompress_safe(at, block, (int)size, (int)sizeof block);
    if (got < 0) refuse(kDamaged);
    if (!is_cached) XXH64_update(&checksum, block, (size_t)got);
    whole += (uint64_t)got;
    for (ssize_t done = 0, more; done < got; done += more) {
      more = write(file, block + done, (size_t)(got - done));
      if (more <= 0) return 0;
    }
  }
  if (whole != trailer->agent_size ||
      (!is_cached && XXH64_digest(&checksum) != trailer->agent_checksum))
    refuse(kDamaged);
  return 1;
}

/* Returns a file in memory that the system executes if any, or a negative number. */
static int make_memory_file(void) {
#ifndef MFD_EXEC /* Linux 6.3 */
#define MFD_EXEC 0x10U
#endif
  const int file = memfd_create("scela-nla", MFD_CLOEXEC | MFD_EXEC);
  return file >= 0 ? file : memfd_create("scela-nla", MFD_CLOEXEC);
}

/* Puts the package where it is to be from now on. */
static void settle_package(void) {
  if (is_cached) return;
  if (stored_path == NULL || rename(package_path, stored_path) != 0) unlink(package_path);
}

/* Reads `--cached` and `--store` in the arguments for the agent. */
static void read_arguments(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (strcmp(argv[i], "--cached") == 0) is_cached = 1;
    if (strcmp(argv[i], "--store") == 0) stored_path = argv[i + 1];
  }
}

/* Executes the agent in memory. Returns if that is not possible. */
static void run_in_memory(const char* package, const struct PackageTrailer* trailer, char** argv,
                          char** environment) {
  char path[32] = "/proc/self/fd/", number[12];
  const int file = make_memory_file();
  if (file < 0) return;
  if (write_agent(file, package, trailer)) {
    settle_package();
    strcat(path, decimal((unsigned)file, number));
    execve(path, argv, environment);
  }
  close(file);
}

/* Executes the agent in a file beside the package. Returns if that is not possible. `end` are the
 * places of the last arguments. */
static void run_in_file(const char* package, const struct PackageTrailer* trailer, char** argv,
                        char** end, char** environment) {
  static char path[kMaxPath + 32];
  char number[12];
  strcpy(path, package_path);
  char* const slash = strrchr(path, '/');
  strcpy(slash != NULL ? slash + 1 : path, SCELA_UNPACKED_NAME);
  strcat(path, decimal((unsigned)getpid(), number));
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  if (file < 0) return;
  unfinished_path = path;
  const int whole = write_agent(file, package, trailer);
  close(file); /* a file that is open for writing is not executed */
  if (whole) {
    settle_package();
    end[0] = "--unlink";
    end[1] = path;
    end[2] = NULL;
    execve(path, argv, environment);
  }
  unlink(path);
  unfinished_path = NULL;
}

static int unpack(int argc, char** argv, char** environment) {
  static char* arguments[kMaxArguments + 8];
  char number[12];
  if (argc < 1 || argc > kMaxArguments || strlen(argv[0]) > kMaxPath) refuse("too many arguments");
  read_arguments(argc, argv);
  package_path = argv[0];
  const int file = open("/proc/self/exe", O_RDONLY, 0);
  const off_t size = lseek(file, 0, SEEK_END);
  const struct PackageTrailer* trailer = NULL;
  const char* package = MAP_FAILED;
  if (file < 0) refuse("/proc is not mounted");
  if (size > (off_t)sizeof *trailer)
    package = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  if (package == MAP_FAILED) refuse("the package cannot be read");
  static struct PackageTrailer copy; /* the end of a file is not aligned */
  memcpy(&copy, package + size - sizeof copy, sizeof copy);
  trailer = &copy;
  if (memcmp(copy.magic, SCELA_PACKAGE_MAGIC, sizeof copy.magic) != 0 ||
      copy.blocks_at > (uint64_t)size || copy.blocks_size > (uint64_t)size - copy.blocks_at) {
    refuse("the package is not whole");
  }
  int count = 0;
  for (; count < argc; ++count)
    arguments[count] = argv[count];
  arguments[count++] = "--package";
  arguments[count++] = decimal((unsigned)file, number);
  arguments[count] = NULL;
  run_in_memory(package, trailer, arguments, environment);
  run_in_file(package, trailer, arguments, arguments + count, environment);
  refuse("neither memory nor the directory of the package takes it");
  return kUnavailable;
}

#ifdef SCELA_BARE
void scela_start(long* stack) {
  bare_prepare();
  const int argc = (int)stack[0];
  char** argv = (char**)(stack + 1);
  _exit(unpack(argc, argv, argv + argc + 1));
}
#else
int main(int argc, char** argv) {
  extern char** environ;
  return unpack(argc, argv, environ);
}
#endif
