// A space of one rank, for a process that was not started as one of several.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>

#include "comm-channel/bootstrap/space.h"
#include "common/core/text.h"

namespace scela::channel {

namespace {

class AloneSpace : public Space {
 public:
  AloneSpace() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    place_.job = cat("alone-", static_cast<long>(::getpid()), "-", static_cast<long>(now.tv_sec),
                     "-", static_cast<long>(now.tv_nsec));
    place_.node_names = {"here"};
  }
  const Place& place() const override { return place_; }
  std::string describe() const override { return "alone: the environment names no launcher"; }
  Result<void> put(std::string_view key, std::string_view bytes) override {
    pairs_.insert_or_assign(std::string(key), std::string(bytes));
    return {};
  }
  Result<void> fence() override { return {}; }
  Result<std::string> get(int, std::string_view key) override {
    const auto found = pairs_.find(key);
    if (found != pairs_.end()) return found->second;
    return fail(Error{ErrorKind::usage, "get a value", "",
                      "this process has put none under the key", "put it first"});
  }
  void abort(int, std::string_view) override {}
  Result<void> leave() override { return {}; }

 private:
  Place place_;
  std::map<std::string, std::string, std::less<>> pairs_;
};

// Warns if srun has started several tasks without PMI: each would silently be a world of its own.
// One line is written for the whole step.
void warn_of_many() {
  const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  const char* const task = std::getenv("SLURM_PROCID");
  if (tasks == nullptr || task == nullptr || std::atoi(tasks) < 2) return;
  if (std::string_view(task) != "0") return;
  std::fprintf(stderr,
               "libscela: srun has started %d tasks and offers them no PMI, so each runs alone "
               "(start them with srun --mpi=pmi2 or --mpi=pmix)\n",
               std::atoi(tasks));
}

}  // namespace

std::unique_ptr<Space> open_alone() {
  warn_of_many();
  return std::make_unique<AloneSpace>();
}

}  // namespace scela::channel
