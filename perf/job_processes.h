// The processes of a job, as the system (/proc) reports them. They are all that its driver has
// started: its ranks and their helpers (agents, engines, daemons of other launchers). The driver is
// the process that started the job.
//
// The functions hold no state, so any thread may call them. The file uses only the standard library
// and Linux, because the peers are compiled with it too. Processes are named by their process ids.
#pragma once

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace scela::perf {

// Returns the text of the file, or an empty string if it cannot be read.
inline std::string file_text(const std::string& path) {
  std::string text;
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return text;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, file)) > 0;)
    text.append(part, n);
  std::fclose(file);
  return text;
}

// Returns the names in the folder that are numbers above 0, in any order.
inline std::vector<long> numbered_entries(const char* folder) {
  std::vector<long> numbers;
  DIR* const directory = ::opendir(folder);
  if (directory == nullptr) return numbers;
  while (const dirent* const entry = ::readdir(directory))
    if (const long number = std::strtol(entry->d_name, nullptr, 10); number > 0)
      numbers.push_back(number);
  ::closedir(directory);
  return numbers;
}

// Returns the ids of the threads of a process; none if it has ended.
inline std::vector<long> threads_of(long process) {
  return numbered_entries(("/proc/" + std::to_string(process) + "/task").c_str());
}

// Returns the process id of the parent, or 0 if the process has ended.
inline long parent_of(long process) {
  const std::string text = file_text("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name = text.rfind(')');  // the name may contain anything
  return name == std::string::npos || name + 4 > text.size()
             ? 0
             : std::strtol(text.c_str() + name + 4, nullptr, 10);
}

// Returns all processes that `driver` has started, and their descendants, without `driver` itself.
inline std::set<long> descendants(long driver) {
  std::map<long, long> parents;
  for (const long process : numbered_entries("/proc"))
    parents[process] = parent_of(process);
  std::set<long> found;
  for (const auto& [process, parent] : parents)
    for (long at = parent; at > 0; at = parents.count(at) != 0 ? parents[at] : 0)
      if (at == driver) {
        found.insert(process);
        break;
      }
  return found;
}

// Returns the number in the line of `text` that begins with `what` ("Pss:"), or 0 if there is no
// such line. The first line of the text is not searched.
inline double kib_of(const std::string& text, const char* what) {
  const std::size_t at = text.find(std::string("\n") + what);
  return at == std::string::npos ? 0 : std::atof(text.c_str() + at + 1 + std::strlen(what));
}

// Memory of a process, or of several, in KiB. All values are 0 if the process has ended or belongs
// to another user.
struct Memory {
  double proportional = 0;  // shared pages are divided by their users
  double own = 0;           // written pages of this process alone
  double resident = 0;      // all pages in memory
  // The resident pages of shared memory segments, without those of files.
  double shared = 0;
  Memory& operator+=(const Memory& other) {
    proportional += other.proportional;
    own += other.own;
    resident += other.resident;
    shared += other.shared;
    return *this;
  }
};
// Returns the memory of a process.
inline Memory memory_of(long process) {
  const std::string folder = "/proc/" + std::to_string(process);
  const std::string text = file_text(folder + "/smaps_rollup");
  return {kib_of(text, "Pss:"), kib_of(text, "Private_Dirty:"), kib_of(text, "Rss:"),
          kib_of(file_text(folder + "/status"), "RssShmem:")};
}

// Returns the microseconds that the living threads of the process have run.
inline double processor_time_of(long process) {
  const std::string tasks = "/proc/" + std::to_string(process) + "/task/";
  double nanoseconds = 0;
  for (const long task : threads_of(process))
    nanoseconds += std::atof(file_text(tasks + std::to_string(task) + "/schedstat").c_str());
  return nanoseconds / 1000;
}

// Returns the microseconds that the threads of this process have run, as getrusage counts them.
inline double own_processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace scela::perf
