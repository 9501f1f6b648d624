// The program of a judge: verbs-semantics (cases.cpp), verbs-tasks (tests/verbs/tasks).
//
//   verbs-semantics [-d DEVICE] [-g GID-INDEX] [--list] [--only NAME] [--skip NAME]
//                  [--deadline SECONDS] [--here]
//
// One line per case: `ok NAME`, `not ok NAME: what was expected, what came`, `skip NAME: why`. Exit
// status 0 if no case failed. --only and --skip may be repeated; a NAME that ends in '*' stands for
// all that begin so. --here runs the cases in this process, for a debugger.
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "tests/verbs/semantics/judge.h"
#include "tests/verbs/semantics/semantics_device.h"

namespace semantics {
namespace {

struct Options {
  std::vector<std::string> only;
  std::vector<std::string> skipped;
  int deadline = 20;  // seconds for each case
  bool list = false;
  bool here = false;
};

bool is_named(const std::string& name, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    if (pattern == name) return true;
    if (pattern.ends_with('*') && name.starts_with(pattern.substr(0, pattern.size() - 1))) {
      return true;
    }
  }
  return false;
}

std::string verdict(const Case& one) {
  const std::string name = one.name;
  try {
    one.run();
    return "ok " + name;
  } catch (const Failed& failed) {
    return "not ok " + name + ": " + failed.text;
  } catch (const Skipped& skipped) {
    return "skip " + name + ": " + skipped.text;
  } catch (const std::exception& thrown) {
    return "not ok " + name + ": exception " + thrown.what();
  }
}

// Returns what the process of the case wrote before it ended or the deadline passed.
std::string read_verdict(int from, int deadline, bool& late) {
  std::string text;
  char bytes[512];
  pollfd ready{from, POLLIN, 0};
  for (;;) {
    const int polled = poll(&ready, 1, deadline * 1000);
    if (polled == 0) {
      late = true;
      return text;
    }
    const ssize_t got = read(from, bytes, sizeof bytes);
    if (got <= 0) return text;
    text.append(bytes, static_cast<size_t>(got));
  }
}

std::string run_apart(const Case& one, int deadline, char* notes) {
  int ends[2];
  if (pipe(ends) != 0) return std::string("not ok ") + one.name + ": pipe failed";
  notes[0] = '\0';
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    // The deadline ends a case with all of its processes.
    setpgid(0, 0);
    close(ends[0]);
    const std::string text = verdict(one);
    const ssize_t written = write(ends[1], text.data(), text.size());
    // Objects of the device that are still open go with the process.
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  bool late = false;
  std::string text = child < 0 ? "not ok: fork failed" : read_verdict(ends[0], deadline, late);
  close(ends[0]);
  if (child < 0) return text;
  kill(-child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  const std::string head = std::string("not ok ") + one.name + ": ";
  if (late) {
    return head + "nothing came within " + std::to_string(deadline) +
           " s: " + (notes[0] == '\0' ? "a verb did not return" : notes);
  }
  if (text.empty() && WIFSIGNALED(status)) {
    return head + "ended by signal " + std::to_string(WTERMSIG(status));
  }
  return text.empty() ? head + "ended without a verdict" : text;
}

int run(const Options& options) {
  void* shared =
      mmap(nullptr, kNoteSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  char* notes = static_cast<char*>(shared);
  note_into(notes);
  std::map<char, int> counts;
  for (const Case& one : all_cases()) {
    const std::string name = one.name;
    if (!options.only.empty() && !is_named(name, options.only)) continue;
    if (is_named(name, options.skipped)) continue;
    if (options.list) {
      std::printf("%s\n", one.name);
      continue;
    }
    const std::string line = options.here ? verdict(one) : run_apart(one, options.deadline, notes);
    ++counts[line.front()];
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  if (options.list) return 0;
  std::printf("# %d ok, %d not ok, %d skipped\n", counts['o'], counts['n'], counts['s']);
  return counts['n'] == 0 ? 0 : 1;
}

int usage() {
  std::fprintf(stderr,
               "usage: [-d DEVICE] [-g GID-INDEX] [--list] [--only NAME]... "
               "[--skip NAME]... [--deadline SECONDS] [--here]\n");
  return 2;
}

}  // namespace

int main_of(const std::vector<std::string>& words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--list") {
      options.list = true;
    } else if (word == "--here") {
      options.here = true;
    } else if (i + 1 == words.size()) {
      return usage();
    } else if (word == "-d") {
      settings().device = words[++i];
    } else if (word == "-g") {
      settings().gid_index = std::atoi(words[++i].c_str());
    } else if (word == "--deadline") {
      options.deadline = std::max(1, std::atoi(words[++i].c_str()));
    } else if (word == "--only") {
      options.only.push_back(words[++i]);
    } else if (word == "--skip") {
      options.skipped.push_back(words[++i]);
    } else {
      return usage();
    }
  }
  return run(options);
}

}  // namespace semantics

int main(int argc, char** argv) {
  return semantics::main_of(std::vector<std::string>(argv + 1, argv + argc));
}
