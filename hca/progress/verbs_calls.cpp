#include "hca/progress/verbs_calls.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

namespace scela::hca::progress {
namespace {

// Returns a handle of the shared object that holds the function; it also finds the object's
// dependencies. Returns null if that is the program itself.
void* object_of(const void* function) {
  Dl_info info{};
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  return ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

template <class Function>
bool find(void* object, const char* name, Function& function) {
  void* found = object == nullptr ? nullptr : ::dlsym(object, name);
  if (found == nullptr) found = ::dlsym(RTLD_DEFAULT, name);
  function = reinterpret_cast<Function>(found);
  return found != nullptr;
}

template <class Function>
bool find_own(void* object, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(object, name));
  return function != nullptr;
}

std::optional<TaskCalls> find_tasks(const void* operation) {
  void* const object = object_of(operation);
  if (object == nullptr) return std::nullopt;
  TaskCalls calls;
  const bool all = find_own(object, "scela_create_cq", calls.create_cq) &&
                   find_own(object, "scela_destroy_cq", calls.destroy_cq) &&
                   find_own(object, "scela_create_qp", calls.create_qp) &&
                   find_own(object, "scela_modify_qp", calls.modify_qp) &&
                   find_own(object, "scela_destroy_qp", calls.destroy_qp) &&
                   find_own(object, "scela_post_task", calls.post_task) &&
                   find_own(object, "scela_create_mq", calls.create_mq);
  ::dlclose(object);  // it stays loaded: a context is open
  return all ? std::optional(calls) : std::nullopt;
}

bool thread_is_asked_for() {
  const char* const asked = std::getenv("SCELA_TASKS");
  return asked != nullptr && std::string_view(asked) == "thread";
}

}  // namespace

bool find_verbs(const ibv_context& context, VerbsCalls& calls) {
  void* const object = object_of(reinterpret_cast<const void*>(context.ops.poll_cq));
  const bool all = find(object, "ibv_create_comp_channel", calls.create_comp_channel) &&
                   find(object, "ibv_destroy_comp_channel", calls.destroy_comp_channel) &&
                   find(object, "ibv_get_cq_event", calls.get_cq_event) &&
                   find(object, "ibv_ack_cq_events", calls.ack_cq_events) &&
                   find(object, "ibv_create_cq", calls.create_cq) &&
                   find(object, "ibv_destroy_cq", calls.destroy_cq) &&
                   find(object, "ibv_create_qp", calls.create_qp) &&
                   find(object, "ibv_modify_qp", calls.modify_qp) &&
                   find(object, "ibv_destroy_qp", calls.destroy_qp);
  if (object != nullptr) ::dlclose(object);
  return all;
}

const TaskCalls* tasks_of(const ibv_context& context) {
  static const bool use_thread = thread_is_asked_for();
  if (use_thread) return nullptr;
  // The key is the function: in a loaded library, a function keeps its address.
  static std::mutex mutex;
  static auto& known = *new std::map<const void*, std::optional<TaskCalls>>;
  const auto* operation = reinterpret_cast<const void*>(context.ops.poll_cq);
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(operation);
  if (is_new) entry->second = find_tasks(operation);
  return entry->second ? &*entry->second : nullptr;
}

}  // namespace scela::hca::progress
