#include "collectives/executors/executor.h"

#include "collectives/executors/factory.h"

namespace scela::collectives {

void Executor::run(Run& run) {
  start(run);
  wait(run, {});
}

bool Executor::wait(Run& run, Timeout limit) {
  Run* const one[] = {&run};
  return wait_any(one, limit) == 0;
}

std::string_view name_of(ExecutorKind kind) {
  switch (kind) {
    case ExecutorKind::at_once:
      return "inline";
    case ExecutorKind::polled:
      return "polled";
    case ExecutorKind::thread:
      return "thread";
    case ExecutorKind::engine:
      return "engine";
  }
  return "";
}

}  // namespace scela::collectives
