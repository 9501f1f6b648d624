#include "comm-channel/verbs/symbols.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "common/core/text.h"

namespace scela::channel::verbs {

namespace {

// A name with a slash is that of a file. Otherwise the linker's directories are searched, then the
// directory of this code, and then the lib directory beside that. A build tree and an installation
// have it in these places.
void* open_library(const std::string& name, std::string& why) {
  void* found = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (found != nullptr) return found;
  why = ::dlerror();
  Dl_info info{};
  if (name.find('/') != std::string::npos ||
      ::dladdr(reinterpret_cast<const void*>(&load_symbols), &info) == 0) {
    return nullptr;
  }
  std::string place = info.dli_fname;
  place.erase(place.rfind('/') + 1);
  for (const char* beside : {"", "../lib/"}) {
    if (place.empty()) break;
    found = ::dlopen(cat(place, beside, name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (found != nullptr) return found;
  }
  return nullptr;
}

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  // The default version is found, which a program that is linked today gets.
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

// Returns the name of a function that is missing, or null if all are there.
const char* find_all(void* handle, TaskSymbols& tasks) {
  const char* missing = nullptr;
#define SCELA_FIND(name) \
  if (!find(handle, #name, tasks.name)) missing = #name;
  SCELA_TASK_FUNCTIONS(SCELA_FIND)
#undef SCELA_FIND
  return missing;
}

const char* find_all(void* handle, Symbols& symbols) {
  const char* missing = nullptr;
#define SCELA_FIND(name) \
  if (!find(handle, #name, symbols.name)) missing = #name;
  SCELA_VERBS_FUNCTIONS(SCELA_FIND)
#undef SCELA_FIND
#define SCELA_FIND(name) find(handle, #name, symbols.name);
  SCELA_OPTIONAL_FUNCTIONS(SCELA_FIND)
#undef SCELA_FIND
  return missing;
}

struct Loaded {
  Symbols symbols;
  TaskSymbols tasks;
};

Error cannot_load(const std::string& library, std::string why) {
  const bool adapter = library.find("scela") != std::string::npos;
  return Error{ErrorKind::usage, cat("load ", library), "", std::move(why),
               adapter ? "install it where the linker looks (ldconfig), or name its file by "
                         "SCELA_CHANNEL_VERBS"
                       : "install libibverbs (package libibverbs1), or set SCELA_CHANNEL_VERBS to "
                         "scela"};
}

}  // namespace

Result<const Symbols*> load_symbols(const std::string& library) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Loaded>> all;
  const std::lock_guard lock(mutex);
  if (const auto found = all.find(library); found != all.end()) return &found->second->symbols;
  std::string why;
  void* const handle = open_library(library, why);
  if (handle == nullptr) return fail(cannot_load(library, std::move(why)));
  auto loaded = std::make_unique<Loaded>();
  if (const char* const missing = find_all(handle, loaded->symbols)) {
    return fail(cannot_load(library, cat("it has no ", missing)));
  }
  loaded->symbols.library = library;
  loaded->symbols.is_adapter = loaded->symbols.scela_hca_join != nullptr;
  if (find_all(handle, loaded->tasks) == nullptr) loaded->symbols.tasks = &loaded->tasks;
  return &all.emplace(library, std::move(loaded)).first->second->symbols;
}

const TaskSymbols* load_thread_tasks() {
  static const std::unique_ptr<const TaskSymbols> one = [] {
    std::string why;
    auto tasks = std::make_unique<TaskSymbols>();
    void* const handle = open_library(kTasksLibrary, why);
    if (handle == nullptr || find_all(handle, *tasks) != nullptr) tasks.reset();
    return tasks;
  }();
  return one.get();
}

}  // namespace scela::channel::verbs
