// P1: the thread that runs operations is beside its rank, not where a rank of the node runs.
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"
#include "common/os/affinity.h"
#include "tests/interop/programs/collectives/communicator_check.h"

using namespace scela;

namespace {

pid_t progress_thread(pid_t another = 0) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    const pid_t thread = std::stoi(task.path().filename());
    if (name == "scela-progress" && thread != another) return thread;
  }
  failed("there is no progress thread");
}

}  // namespace

std::vector<int> leave_all_processors_but_one() {
  std::vector<int> all = allowed_cpus();
  const CpuMask one(std::vector<int>{all.front()});
  must(::sched_setaffinity(0, one.bytes(), one.data()) == 0, "sched_setaffinity");
  return all;
}

void binding(Channel& channel, const Communicator& world, const std::vector<int>& all) {
  const std::vector<int> own{all.front()};
  for (const std::vector<int>& processors : channel.processors_of_node())
    must(processors == own, "all ranks of this node have said that they run on one processor");
  const pid_t bound = progress_thread();
  const std::vector<int> found = allowed_cpus(bound);
  const bool is_idle = std::find(found.begin(), found.end(), all.front()) == found.end();
  must(is_idle == (all.size() > 1), "it is not where no rank is: " + world.describe());
  must(world.describe().starts_with("a progress thread on "), world.describe());
  const Communicator other = Communicator::world(
      channel, {.progress = ProgressMode::thread, .bind_thread = false, .table = {}});
  must(allowed_cpus(progress_thread(bound)) == own,
       "one that is not bound is not where its rank is");
  must(other.describe().find("not bound") != std::string::npos, other.describe());
}
