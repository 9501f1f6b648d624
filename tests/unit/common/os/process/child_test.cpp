#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "common/os/private_dir.h"
#include "common/os/process/process_tree.h"
#include "tests/support/eventually.h"
#include "tests/unit/common/os/child_run.h"

namespace child_test {

using namespace scela;
using namespace scela::test;

namespace {

// A directory that is removed at the end of the test.
struct Scratch {
  Scratch() : path(private_directory_path(temporary_base(), cat("scela-child-test-", ::getpid()))) {
    REQUIRE(make_private_directory(path));
  }
  ~Scratch() { static_cast<void>(remove_tree(path)); }
  std::string file(const std::string& name, mode_t mode, const std::string& content = "") const {
    const std::string full = cat(path, "/", name);
    std::ofstream(full) << content;
    ::chmod(full.c_str(), mode);
    return full;
  }
  std::string path;
};

std::string status_field(pid_t pid, const std::string& name) {
  const std::string text = read_small_file(cat("/proc/", pid, "/status").c_str());
  const std::size_t at = text.find(cat("\n", name, ":\t"));
  if (at == std::string::npos) return {};
  const std::size_t value = at + name.size() + 3;
  return text.substr(value, text.find('\n', value) - value);
}

}  // namespace

TEST_CASE("a started program's exit status is its own") {
  Command command({"/bin/sh", "-c", "exit 7"});
  const auto pid = start_child(command.spec);
  REQUIRE(pid);
  const int status = wait_status(*pid);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE(
    "a child that stops at its start runs nothing before it is continued, and is not traced") {
  const Scratch scratch;
  const std::string ran = cat(scratch.path, "/ran");
  Command command({"/bin/sh", "-c", cat("echo yes >", ran)});
  command.spec.stops_at_start = true;
  const auto pid = start_child(command.spec);
  REQUIRE(pid);
  int status = 0;
  REQUIRE(::waitpid(*pid, &status, WUNTRACED) == *pid);
  REQUIRE(WIFSTOPPED(status));
  CHECK(WSTOPSIG(status) == SIGSTOP);
  CHECK(read_small_file(cat("/proc/", *pid, "/comm").c_str()) == "sh\n");  // executed already
  CHECK(status_field(*pid, "TracerPid") == "0");
  CHECK(::access(ran.c_str(), F_OK) != 0);
  ::kill(*pid, SIGCONT);
  status = wait_status(*pid);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(::access(ran.c_str(), F_OK) == 0);
}

TEST_CASE("a missing program is told as the step and its errno, and leaves no process") {
  Command command({"/nonexistent/program"});
  const auto pid = start_child(command.spec);
  REQUIRE_FALSE(pid);
  CHECK(pid.error().step == ChildStep::execute);
  CHECK(pid.error().error == ENOENT);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("a program that may not be executed is told so") {
  const Scratch scratch;
  Command command({scratch.file("plain", 0644)});
  const auto pid = start_child(command.spec);
  REQUIRE_FALSE(pid);
  CHECK(pid.error().step == ChildStep::execute);
  CHECK(pid.error().error == EACCES);
}

TEST_CASE("a working directory that does not exist is told so") {
  Command command({"/bin/true"});
  command.spec.directory = "/nonexistent/directory";
  const auto pid = start_child(command.spec);
  REQUIRE_FALSE(pid);
  CHECK(pid.error().step == ChildStep::directory);
  CHECK(pid.error().error == ENOENT);
}

TEST_CASE("a processor that does not exist is told so") {
  Command command({"/bin/true"});
  const CpuMask nowhere({60000});
  command.spec.cpus = &nowhere;
  const auto pid = start_child(command.spec);
  REQUIRE_FALSE(pid);
  CHECK(pid.error().step == ChildStep::affinity);
  CHECK(pid.error().error == EINVAL);
}

TEST_CASE("memory of a domain that does not exist is told so") {
  Command command({"/bin/true"});
  const MemoryPolicy nowhere(MemoryBinding::local, DomainSet::single(60000));
  command.spec.memory = &nowhere;
  const auto pid = start_child(command.spec);
  REQUIRE_FALSE(pid);
  CHECK(pid.error().step == ChildStep::memory);
  CHECK((pid.error().error == EINVAL || pid.error().error == ENOSYS));
  CHECK(text_of(pid.error(), "/bin/true").starts_with("bind the memory of '/bin/true': "));
}

TEST_CASE("a child has the descriptors it was given and no other, close-on-exec or not") {
  const Fd leaked(::open("/dev/null", O_RDONLY));  // as a careless library leaves it
  const Fd high(::fcntl(leaked.get(), F_DUPFD, 200));
  Result<Pipe> pipe = make_pipe();
  REQUIRE(pipe);
  Command command(sleeper());
  const int wanted[] = {0, 1, 2, pipe->write.get()};
  command.spec.descriptors = wanted;
  const auto pid = start_child(command.spec);
  REQUIRE(pid);
  // The program's loader opens files for a moment. A leaked descriptor would stay open.
  const std::set<std::string> expected = {"0", "1", "2", "3"};
  CHECK(eventually([&] { return names_in(cat("/proc/", *pid, "/fd")) == expected; }));
  ::kill(*pid, SIGKILL);
  wait_status(*pid);
}

TEST_CASE("descriptors with swapped numbers arrive at their places") {
  // Descriptors 0 and 1 are exchanged: the child reads what is written to its 0 and answers on its
  // 1.
  Result<Pipe> in = make_pipe();
  Result<Pipe> out = make_pipe();
  REQUIRE(in);
  REQUIRE(out);
  const int saved0 = ::dup(0);
  const int saved1 = ::dup(1);
  ::dup2(out->write.get(), 0);
  ::dup2(in->read.get(), 1);
  Command command({"/bin/cat"});
  const int swapped[] = {1, 0, 2};
  command.spec.descriptors = swapped;
  const auto pid = start_child(command.spec);
  ::dup2(saved0, 0);
  ::dup2(saved1, 1);
  ::close(saved0);
  ::close(saved1);
  out->write.reset();
  REQUIRE(pid);
  CHECK(::write(in->write.get(), "over", 4) == 4);
  in->write.reset();
  char buffer[8];
  CHECK(::read(out->read.get(), buffer, sizeof buffer) == 4);
  CHECK(wait_status(*pid) == 0);
}

TEST_CASE("a child begins with default signals and an empty mask whatever its parent has") {
  struct sigaction before = {};
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  sigset_t blocked, old;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigaddset(&blocked, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &blocked, &old);
  Command command(sleeper());
  const auto pid = start_child(command.spec);
  sigset_t now;
  ::sigprocmask(SIG_SETMASK, &old, &now);
  ::sigaction(SIGPIPE, &before, nullptr);
  REQUIRE(pid);
  // The parent's own mask is unchanged.
  CHECK(::sigismember(&now, SIGUSR1) == 1);
  CHECK(::sigismember(&now, SIGTERM) == 0);
  const unsigned long ignored = std::stoul(status_field(*pid, "SigIgn"), nullptr, 16);
  CHECK((ignored & (1ul << (SIGPIPE - 1))) == 0);
  CHECK(std::stoul(status_field(*pid, "SigBlk"), nullptr, 16) == 0);
  ::kill(*pid, SIGKILL);
  wait_status(*pid);
}

TEST_CASE("a child leads a process group, or a session when asked") {
  for (const ChildGroup group : {ChildGroup::own_group, ChildGroup::own_session}) {
    Command command(sleeper());
    command.spec.group = group;
    const auto pid = start_child(command.spec);
    REQUIRE(pid);
    ProcessFacts facts;
    REQUIRE(facts_of(*pid, facts));
    CHECK(facts.group == *pid);
    CHECK((facts.session == *pid) == (group == ChildGroup::own_session));
    ::kill(*pid, SIGKILL);
    wait_status(*pid);
  }
}

TEST_CASE("a child runs where and on what it is told") {
  const std::vector<int> cpus = allowed_cpus();
  REQUIRE_FALSE(cpus.empty());
  const CpuMask last({cpus.back()});
  Command command(sleeper());
  command.spec.cpus = &last;
  command.spec.directory = "/usr";
  const auto pid = start_child(command.spec);
  REQUIRE(pid);
  CHECK(status_field(*pid, "Cpus_allowed_list") == cat(cpus.back()));
  char where[64] = {};
  CHECK(::readlink(cat("/proc/", *pid, "/cwd").c_str(), where, sizeof where - 1) > 0);
  CHECK(std::string(where) == "/usr");
  ::kill(*pid, SIGKILL);
  wait_status(*pid);
}

// With the thread sanitizer. It would report the counter if it had lost sight of locks.
TEST_CASE("a lock still orders threads after a child was started") {
  Command command({"/bin/true"});
  const auto pid = start_child(command.spec);
  REQUIRE(pid);
  CHECK(wait_status(*pid) == 0);
  std::mutex mutex;
  std::condition_variable changed;
  int counter = 0;
  std::unique_lock lock(mutex);
  std::thread other([&] {
    const std::lock_guard own(mutex);
    ++counter;
    changed.notify_one();
  });
  changed.wait(lock, [&] { return counter > 0; });
  CHECK(counter == 1);
  lock.unlock();
  other.join();
}

TEST_CASE("a program is found as execvp would find it") {
  const Scratch scratch;
  const std::string program = scratch.file("tool", 0755);
  scratch.file("plain", 0644);
  ::mkdir(cat(scratch.path, "/sub").c_str(), 0700);

  CHECK(find_program("tool", cat("/nonexistent:", scratch.path), "") == program);
  CHECK(find_program("./tool", "", scratch.path) == cat(scratch.path, "/./tool"));
  CHECK(find_program(program, "", "/elsewhere") == program);
  CHECK(find_program("tool", ":/nonexistent", scratch.path) == cat(scratch.path, "/./tool"));

  const auto error_of = [&](std::string_view name) {
    return find_program(name, cat(scratch.path, ":/usr/bin"), scratch.path).error();
  };
  CHECK(error_of("no-such-program") == ENOENT);
  CHECK(error_of("plain") == EACCES);
  CHECK(error_of("./plain") == EACCES);
  CHECK(error_of("./sub") == EACCES);
  CHECK(error_of("tool/x/y") == ENOTDIR);
  CHECK(error_of("") == ENOENT);
}

}  // namespace child_test
