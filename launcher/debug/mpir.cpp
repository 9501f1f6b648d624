#include "launcher/debug/mpir.h"

#include <cstring>

// The names, types and values are those of the specification. Tools read them by the names in the
// symbol table, so the linker exports these symbols (launcher/CMakeLists.txt) and strip keeps them.
// This file is compiled with debug information, as the specification asks for.
#define SCELA_MPIR __attribute__((used, visibility("default")))

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
struct MPIR_PROCDESC {
  char* host_name;
  char* executable_name;
  int pid;
};

SCELA_MPIR MPIR_PROCDESC* MPIR_proctable = nullptr;
SCELA_MPIR int MPIR_proctable_size = 0;
SCELA_MPIR volatile int MPIR_debug_state = 0;
SCELA_MPIR volatile int MPIR_being_debugged = 0;
SCELA_MPIR char* MPIR_debug_abort_string = nullptr;
// Their presence alone tells tools: this program is no rank itself, and a tool may attach to some
// of the ranks only, because scela-run lets the others go on.
SCELA_MPIR volatile int MPIR_i_am_starter = 1;
SCELA_MPIR volatile int MPIR_partial_attach_ok = 1;
// No other launcher has this one: LaunchMON knows scela-run by it (packaging/launchmon).
SCELA_MPIR volatile int MPIR_starter_is_scela_run = 1;
// The ranks are stopped before main() already.
SCELA_MPIR volatile int MPIR_acquired_pre_main = 1;
SCELA_MPIR volatile int MPIR_force_to_main = 0;
// A program that the debugger wants on each node, and its arguments: each ends with a NUL byte, and
// an empty one ends the list.
SCELA_MPIR char MPIR_executable_path[256] = {};
SCELA_MPIR char MPIR_server_arguments[1024] = {};
// The name of the job. LaunchMON reads it.
SCELA_MPIR char* totalview_jobid = nullptr;

SCELA_MPIR __attribute__((noinline)) void MPIR_Breakpoint() {
  // Otherwise the compiler would leave calls of an empty function out.
  asm volatile("" ::: "memory");
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

namespace scela {

namespace {

constexpr int kSpawned = 1;   // MPIR_DEBUG_SPAWNED
constexpr int kAborting = 2;  // MPIR_DEBUG_ABORTING

// The memory that the variables point to.
struct Published {
  std::vector<TableEntry> table;
  std::vector<MPIR_PROCDESC> processes;
  std::string job_id, why;
};

Published& published() {
  static Published one;
  return one;
}

}  // namespace

bool is_debugged() {
  return MPIR_being_debugged != 0;
}

std::vector<std::string> tool_words() {
  std::vector<std::string> words;
  const auto text_at = [](const char* first, std::size_t size) {
    return std::string(first, ::strnlen(first, size));
  };
  std::string path = text_at(MPIR_executable_path, sizeof MPIR_executable_path);
  if (path.empty()) return words;
  words.push_back(std::move(path));
  for (std::size_t at = 0; at < sizeof MPIR_server_arguments;) {
    std::string word = text_at(MPIR_server_arguments + at, sizeof MPIR_server_arguments - at);
    if (word.empty()) break;
    at += word.size() + 1;
    words.push_back(std::move(word));
  }
  return words;
}

void publish_processes(const std::vector<TableEntry>& table, const std::string& job_id) {
  Published& own = published();
  own.table = table;
  own.job_id = job_id;
  own.processes.clear();
  for (TableEntry& entry : own.table)
    own.processes.push_back(
        {entry.host.data(), entry.executable.data(), static_cast<int>(entry.pid)});
  totalview_jobid = own.job_id.data();
  MPIR_proctable = own.processes.data();
  MPIR_proctable_size = static_cast<int>(own.processes.size());
  MPIR_debug_state = kSpawned;
  MPIR_Breakpoint();
}

void publish_abort(const std::string& why) {
  if (!is_debugged()) return;
  published().why = why;
  MPIR_debug_abort_string = published().why.data();
  MPIR_debug_state = kAborting;
  MPIR_Breakpoint();
}

}  // namespace scela
