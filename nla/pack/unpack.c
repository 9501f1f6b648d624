/* The first part of a package (package_format.h): unpacks the agent's executable and executes it with
 * the arguments that this program got, and with two more:
 *
 *   --package FD    an open descriptor of the package, which the agent sends on to other nodes
 *   --unlink FILE   only if the agent is in a file, which it then removes
 *
 * The file of the package is removed at once. The agent is put into memory (memfd_create(2)), so
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

static char* package_path;
static const char* unfinished_path; /* a file that is removed if the agent is not executed */

/* Prints the reason and ends the program. */
static void refuse(const char* why) {
  if (unfinished_path != NULL) unlink(unfinished_path);
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

/* Makes the descriptor `file` as long as the agent and unpacks it there. Returns 0 if the file does not
 * take it. */
static int unpack_into(int file, const char* package, const struct PackageTrailer* trailer) {
  const size_t size = trailer->agent_size;
  /* Room is reserved first: without it, writing to the mapping would end the process. */
  if (ftruncate(file, (off_t)size) != 0 || fallocate(file, 0, 0, (off_t)size) != 0) return 0;
  char* agent = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (agent == MAP_FAILED) return 0;
  const int got =
      LZ4_decompress_safe(package + trailer->block_at, agent, (int)trailer->block_size, (int)size);
  if (got < 0 || (size_t)got != size || XXH64(agent, size, 0) != trailer->agent_checksum)
    refuse("it was damaged on its way to the node");
  munmap(agent, size);
  return 1;
}

/* Executes the agent in memory. Returns if that is not possible. */
static void run_in_memory(const char* package, const struct PackageTrailer* trailer, char** argv,
                          char** environment) {
  char path[32] = "/proc/self/fd/", number[12];
  const int file = memfd_create("scela-nla", MFD_CLOEXEC);
  if (file < 0) return;
  if (unpack_into(file, package, trailer)) {
    strcat(path, decimal((unsigned)file, number));
    execve(path, argv, environment);
  }
  close(file);
}

/* Executes the agent in a file beside the package. Returns if that is not possible. `end` are the
 * places of the last arguments. */
static void run_in_file(const char* package, const struct PackageTrailer* trailer, char** argv,
                        char** end, char** environment) {
  static char path[kMaxPath + 8];
  strcpy(path, package_path);
  strcat(path, ".x");
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  if (file < 0) return;
  unfinished_path = path;
  const int whole = unpack_into(file, package, trailer);
  close(file); /* a file that is open for writing is not executed */
  if (whole) {
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
  package_path = argv[0];
  const int file = open("/proc/self/exe", O_RDONLY, 0);
  const off_t size = lseek(file, 0, SEEK_END);
  const struct PackageTrailer* trailer = NULL;
  const char* package = MAP_FAILED;
  unlink(package_path);
  if (file < 0) refuse("/proc is not mounted");
  if (size > (off_t)sizeof *trailer)
    package = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  if (package == MAP_FAILED) refuse("the package cannot be read");
  static struct PackageTrailer copy; /* the end of a file is not aligned */
  memcpy(&copy, package + size - sizeof copy, sizeof copy);
  trailer = &copy;
  if (memcmp(copy.magic, SCELA_PACKAGE_MAGIC, sizeof copy.magic) != 0 ||
      copy.block_at > (uint64_t)size || copy.block_size > (uint64_t)size - copy.block_at) {
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
