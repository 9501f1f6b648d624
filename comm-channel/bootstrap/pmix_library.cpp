#include "comm-channel/bootstrap/pmix_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "common/core/text.h"

namespace scela::channel {

namespace {

Error cannot_load(const std::string& name, std::string why) {
  return Error{
      ErrorKind::usage, cat("load ", name, ", which speaks PMIx with the launcher"), "",
      std::move(why),
      "install libpmix 3 or later (package libpmix2), or name it by SCELA_LIBPMIX, or start "
      "with a launcher that speaks PMI (scela-run --pmi fd, mpiexec.hydra, srun --mpi=pmi2)"};
}

Result<PmixLibrary> load() {
  const char* const named = std::getenv("SCELA_LIBPMIX");
  const std::string name = named == nullptr || *named == '\0' ? "libpmix.so.2" : named;
  // The library's components look for its symbols among the program's.
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) return fail(cannot_load(name, ::dlerror()));
  PmixLibrary library;
  const char* missing = nullptr;
#define SCELA_PMIX_LOAD(function)                                                         \
  library.function = reinterpret_cast<decltype(&::function)>(::dlsym(handle, #function)); \
  if (library.function == nullptr) missing = #function;
  SCELA_PMIX_FUNCTIONS(SCELA_PMIX_LOAD)
#undef SCELA_PMIX_LOAD
  if (missing != nullptr) return fail(cannot_load(name, cat("it has no ", missing)));
  return library;
}

}  // namespace

Result<const PmixLibrary*> pmix_library() {
  static const Result<PmixLibrary> one = load();
  if (!one) return fail(one.error());
  return &*one;
}

}  // namespace scela::channel
