// Tests what becomes of gdb's output.
#include "nla/core/job/gdb_stacks.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace gdb_stacks_test {

using namespace scela::nla;

namespace {

// As gdb 13 writes it; the frames before the mark come from the attachment.
constexpr char kThree[] =
    "[Thread debugging using libthread_db enabled]\n"
    "0x00007f1 in pause () from /lib/libc.so.6\n"
    "#0  seen when attaching ()\n"
    "scela: the stacks follow\n"
    "\n"
    "Thread 3 (Thread 0x7f02 (LWP 12) \"worker\"):\n"
    "#0  pause () from /lib/libc.so.6\n"
    "#1  work (argument=...) at p.c:3\n"
    "\n"
    "Thread 2 (Thread 0x7f01 (LWP 11) \"worker\"):\n"
    "#0  pause () from /lib/libc.so.6\n"
    "#1  work (argument=...) at p.c:3\n"
    "\n"
    "Thread 1 (Thread 0x7f00 (LWP 10) \"p\"):\n"
    "#0  main () at p.c:9\n"
    "[Inferior 1 (process 10) detached]\n";

}  // namespace

TEST_CASE("threads with the same stack are one, and nothing of a process is in the text") {
  CHECK(stacks_text(kThree) ==
        "2 threads:\n"
        "#0  pause () from /lib/libc.so.6\n"
        "#1  work (argument=...) at p.c:3\n"
        "1 thread:\n"
        "#0  main () at p.c:9\n");
}

TEST_CASE("a process with one thread has its frames only") {
  CHECK(stacks_text("scela: the stacks follow\nThread 1 (LWP 7):\n#0  f ()\n#1  main ()\n") ==
        "#0  f ()\n#1  main ()\n");
}

TEST_CASE("without a frame the text is what gdb has said last") {
  CHECK(stacks_text("ptrace: Operation not permitted.\nscela: the stacks follow\n") ==
        "no stack: gdb: ptrace: Operation not permitted.\n");
  CHECK(stacks_text("") == "no stack: gdb has said nothing\n");
}

TEST_CASE("long lines are cut") {
  const std::string text = stacks_text("#0  " + std::string(5000, 'x') + " ()\n");
  CHECK(text.size() == kMaxFrameLine + 1);
}

TEST_CASE("gdb reads no file of the user's and asks no server") {
  const auto words = gdb_words(42);
  CHECK(words.front() == "gdb");
  CHECK(std::ranges::count(words, "-nx") == 1);
  CHECK(std::ranges::count(words, "set debuginfod enabled off") == 1);
  const auto process = std::ranges::find(words, "-p");
  REQUIRE(process != words.end());
  CHECK(*(process + 1) == "42");
}

}  // namespace gdb_stacks_test
