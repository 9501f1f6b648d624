// The least time this machine needs for the processes of a launch: no tree, no sockets, no output.
//
//   floor --agents N --agent "PROGRAM ARGS" --ranks M --rank "PROGRAM ARGS" [--spawners K]
//   [--window W]
//
// Starts the agent N times and the rank M times with posix_spawn and reaps them all; prints the
// seconds. K spawner processes share the work (one: what a lone launcher could do; one a core: what
// agents side by side could do). Each keeps at most W children that it has not reaped. The clock
// runs from before the spawners are made to after the last is reaped; this program's own start is
// not counted. Words are split at spaces; standard input and output of the children are this
// program's.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

extern char** environ;

namespace {

struct Command {
  std::vector<std::string> words;

  explicit Command(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      if (end > 0) words.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
};

[[noreturn]] void die(const char* what, int number) {
  std::fprintf(stderr, "floor: %s: %s\n", what, std::strerror(number));
  std::exit(1);
}

class Spawner {
 public:
  explicit Spawner(int window) : window_(window) {}

  void run(const Command& command, int times) {
    std::vector<char*> argv;
    for (const std::string& word : command.words)
      argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    for (int i = 0; i < times; ++i) {
      if (running_ == window_) reap();
      pid_t pid = 0;
      const int error = posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ);
      if (error != 0) die(argv[0], error);
      ++running_;
    }
  }

  void finish() {
    while (running_ > 0)
      reap();
  }

 private:
  void reap() {
    int status = 0;
    while (waitpid(-1, &status, 0) < 0) {
      if (errno != EINTR) die("waitpid", errno);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) die("a child failed", ECHILD);
    --running_;
  }

  int window_;
  int running_ = 0;
};

int share(int total, int parts, int part) {
  return total / parts + (part < total % parts ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  Command agent("");
  Command rank("");
  int agents = 0;
  int ranks = 0;
  int spawners = 1;
  int window = 8;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--agent") {
      agent = Command(argv[i + 1]);
    } else if (option == "--rank") {
      rank = Command(argv[i + 1]);
    } else {
      int* number = option == "--agents"     ? &agents
                    : option == "--ranks"    ? &ranks
                    : option == "--spawners" ? &spawners
                    : option == "--window"   ? &window
                                             : nullptr;
      if (number == nullptr) die(argv[i], EINVAL);
      *number = std::atoi(argv[i + 1]);
    }
  }
  if ((agents > 0 && agent.words.empty()) || (ranks > 0 && rank.words.empty()) || spawners < 1 ||
      window < 1) {
    die("options", EINVAL);
  }

  const auto start = std::chrono::steady_clock::now();
  for (int part = 1; part < spawners; ++part) {
    const pid_t pid = fork();
    if (pid < 0) die("fork", errno);
    if (pid == 0) {
      Spawner spawner(window);
      spawner.run(agent, share(agents, spawners, part));
      spawner.run(rank, share(ranks, spawners, part));
      spawner.finish();
      _exit(0);
    }
  }
  // The other spawners are children too; the last reaps of this one wait for them.
  Spawner spawner(window);
  spawner.run(agent, share(agents, spawners, 0));
  spawner.run(rank, share(ranks, spawners, 0));
  spawner.finish();
  while (wait(nullptr) > 0) {
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%.6f\n", seconds.count());
  return 0;
}
