// Starts a program in a test: builds argument vectors from strings, and reads what /proc says about
// the child.
#pragma once

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "common/core/text.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"

namespace scela::test {

struct Command {
  explicit Command(std::vector<std::string> given) : words(std::move(given)) {
    for (std::string& word : words)
      pointers.push_back(word.data());
    pointers.push_back(nullptr);
    spec.program = words.front().c_str();
    spec.argv = pointers.data();
    spec.envp = environ;
    spec.descriptors = standard;
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  std::vector<std::string> words;
  std::vector<char*> pointers;
  int standard[3] = {0, 1, 2};
  ChildSpec spec;
};

inline std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  if (DIR* listing = ::opendir(directory.c_str())) {
    while (const dirent* entry = ::readdir(listing))
      names.insert(entry->d_name);
    ::closedir(listing);
  }
  names.erase(".");
  names.erase("..");
  return names;
}

inline int wait_status(pid_t pid) {
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

// Returns the command of a program that sleeps until it is ended.
inline std::vector<std::string> sleeper() {
  return {"/bin/sleep", "1000"};
}

}  // namespace scela::test
