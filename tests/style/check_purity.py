#!/usr/bin/env python3
"""Pure rooms are pure: headers can lie, symbols cannot.

Lists the undefined symbols of each library and refuses those that reach for the machine: sockets,
descriptors, processes, threads, clocks, the environment, randomness, standard streams.

usage: check_purity.py LIBRARY... | check_purity.py --self-test CXX
"""
import hashlib
import os
import re
import subprocess
import sys
import tempfile

import tree

C_NAMES = r"""
socket socketpair connect bind listen accept accept4 send sendto sendmsg recv recvfrom recvmsg shutdown
getaddrinfo epoll_\w+ poll ppoll select pselect
open openat creat close read write pread pwrite readv writev dup dup2 dup3 pipe pipe2 fcntl ioctl mmap
munmap shm_open memfd_create unlink stat fstat mkdir rmdir rename opendir syscall
fork vfork clone clone3 exec[vl]\w* fexecve posix_spawn\w* system popen wait waitpid waitid kill raise
_exit signal sigaction daemon setsid prctl
pthread_\w+ thrd_\w+ sem_\w+
sleep usleep nanosleep clock_nanosleep clock clock_gettime clock_getres gettimeofday time timespec_get
localtime\w* gmtime\w* timer\w+ alarm
getenv secure_getenv setenv putenv environ
rand rand_r srand random srandom [delmnj]rand48 getrandom getentropy arc4random\w*
getpid getppid gettid getuid geteuid gethostname uname sysconf
fopen fdopen fclose fread fwrite fputs fputc puts putchar printf fprintf vprintf vfprintf perror syslog
"""
# glibc's variants: open64, __read_chk, __open_2, __isoc99_…
FORBIDDEN_C = re.compile(r"^(?:__)?(?:" + "|".join(C_NAMES.split()) + r")(?:64|_chk|_2|64_2)?$")
FORBIDDEN_CXX = re.compile(
    r"^(?:(?:guard variable|vtable|typeinfo|VTT) for )?(?:"
    r"std::thread::|std::this_thread::|std::jthread|std::random_device::|std::condition_variable"
    r"|std::chrono::(?:_V2::)?\w+_clock::now"
    r"|std::(?:__cxx11::)?basic_(?:i|o)?fstream|std::basic_filebuf|std::ios_base::Init"
    r"|std::(?:cout|cerr|clog|cin)$|std::filesystem::|std::__future_base|boost::asio|spdlog::)")


def forbidden(symbol):
    name = symbol.split("@")[0].strip()
    return bool(FORBIDDEN_C.match(name) or FORBIDDEN_CXX.match(name))


def digest(library, salt):
    with open(library, "rb") as f:
        return tree.digest_of([salt, hashlib.sha256(f.read()).hexdigest()])


def check(library):
    """One line for each object of the library and forbidden symbol."""
    listing = subprocess.run(["nm", "-uC", library], capture_output=True, text=True, check=True).stdout
    errors, member = [], ""
    for line in listing.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            member = line[:-1]
        match = re.match(r"\s+[UwvV] (.*)", line)
        if match and forbidden(match.group(1)):
            errors.append(f"{os.path.basename(library)}({member}): a pure room uses {match.group(1)}")
    return errors


BAD = r"""
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <thread>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
namespace ours { int open(int); }
int many(char* const argv[]) {
  int n = socket(1, 1, 0) + connect(1, nullptr, 0) + accept(1, nullptr, nullptr) + epoll_create1(0);
  pollfd p{};
  n += poll(&p, 1, 0) + ours::open(3) + getpid() + rand() + static_cast<int>(random());
  n += open("/", 0) + static_cast<int>(read(0, argv[0], 1)) + static_cast<int>(write(1, argv[0], 1));
  n += fork() + execve("/", argv, nullptr) + posix_spawn(&n, "/", nullptr, nullptr, argv, nullptr);
  n += getenv("A") != nullptr;
  n += secure_getenv("A") != nullptr;
  timespec t{};
  timeval v{};
  n += nanosleep(&t, nullptr) + clock_gettime(0, &t) + gettimeofday(&v, nullptr);
  n += static_cast<int>(time(nullptr)) + static_cast<int>(std::random_device{}());
  n += static_cast<int>(std::chrono::steady_clock::now().time_since_epoch().count());
  std::this_thread::sleep_for(std::chrono::seconds(n));
  std::thread([] {}).join();
  std::cerr << n;
  return n;
}
"""
BAD_SYMBOLS = """socket connect accept epoll_create1 poll open read write fork execve posix_spawn getenv
secure_getenv nanosleep clock_gettime gettimeofday time rand random getpid std::random_device::
std::chrono::_V2::steady_clock::now() std::thread:: std::cerr""".split()
GOOD = r"""
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
namespace ours { struct Door { int open(int); int read(); }; int time(int); }
using namespace std::chrono_literals;
std::string many(ours::Door& door, std::chrono::milliseconds wait) {
  std::map<std::string, std::shared_ptr<std::vector<int>>> m;
  m["a"] = std::make_shared<std::vector<int>>(static_cast<std::size_t>(door.open(1) + ours::time(2)));
  if (wait > 5ms) throw std::runtime_error("x");
  return std::to_string(m.at("a")->at(0)) + std::to_string(door.read());
}
"""


def self_test(compiler):
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("bad", BAD), ("good", GOOD)):
            source, built = os.path.join(folder, name + ".cpp"), os.path.join(folder, name + ".o")
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
            subprocess.run([compiler, "-std=c++20", "-O0", "-w", "-c", source, "-o", built], check=True)
        found = check(os.path.join(folder, "bad.o"))
        errors += [f"not seen: {s}" for s in BAD_SYMBOLS
                   if not any(re.search(rf" uses {re.escape(s)}", f) for f in found)]
        errors += [f"false alarm: {f}" for f in check(os.path.join(folder, "good.o"))]
    return tree.finish(errors, f"purity self-test, {len(BAD_SYMBOLS)} planted symbols")


def main(arguments):
    if arguments[0] == "--self-test":
        return self_test(arguments[1])
    proofs, salt = tree.Proofs("purity"), tree.read("/", os.path.abspath(__file__)) + tree.packages_digest()
    errors = tree.run_cached(proofs, arguments, lambda library: digest(library, salt), lambda libraries: "\n".join(check(libraries[0])))
    return tree.finish(errors, f"purity of {len(arguments)} rooms")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
