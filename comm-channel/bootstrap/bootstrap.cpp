#include "comm-channel/bootstrap/bootstrap.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "comm-channel/bootstrap/space.h"
#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::channel {

namespace {

constexpr char kChoice[] = "SCELA_BOOTSTRAP";

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// Returns whether this process was started with a launcher's socket. It is the innermost
// launcher's, since it would not be open if another one had started this process afterwards.
bool has_pmi_socket() {
  const char* const number = std::getenv("PMI_FD");
  struct stat status {};
  return number != nullptr && ::fstat(std::atoi(number), &status) == 0 && S_ISSOCK(status.st_mode);
}

Result<SpaceKind> chosen_kind() {
  const char* const text = std::getenv(kChoice);
  const std::string_view choice = text == nullptr ? "" : text;
  constexpr std::pair<std::string_view, SpaceKind> kKinds[] = {
      {"", SpaceKind::by_environment}, {"auto", SpaceKind::by_environment},
      {"pmi1", SpaceKind::pmi1},       {"pmi2", SpaceKind::pmi2},
      {"pmix", SpaceKind::pmix},       {"alone", SpaceKind::alone}};
  for (const auto& [name, kind] : kKinds) {
    if (choice == name) return kind;
  }
  return fail(Error{ErrorKind::usage, cat("read ", kChoice), "",
                    cat("invalid value '", choice, "'"), "valid: auto, pmi1, pmi2, pmix, alone"});
}

Result<std::unique_ptr<Space>> open_space(SpaceKind kind) {
  if (kind == SpaceKind::alone) return open_alone();
  const bool pmix = kind == SpaceKind::pmix || (kind == SpaceKind::by_environment &&
                                                is_set("PMIX_NAMESPACE") && !has_pmi_socket());
  if (pmix) return open_pmix();
  auto space = open_pmi(kind);
  if (!space || *space) return space;
  if (kind == SpaceKind::by_environment) return open_alone();
  return fail(
      Error{ErrorKind::usage, cat("connect to the launcher by PMI, as ", kChoice, " demands"), "",
            "neither PMI_FD nor PMI_PORT is set",
            "start this program with scela-run --pmi fd, mpiexec.hydra or srun --mpi=pmi2"});
}

// Returns what ranks of one node have in common, and no others: they can open each other's
// descriptors in /proc.
std::string own_node() {
  char host[HOST_NAME_MAX + 1] = "";
  ::gethostname(host, sizeof host - 1);
  char space[64] = "";
  if (::readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0) space[0] = '\0';
  return cat(host, " ", read_small_file("/proc/sys/kernel/random/boot_id"), " ", space);
}

bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= Bootstrap::kMaxKey &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_';
         });
}

Error wrong_use(std::string what, std::string why) {
  return Error{ErrorKind::usage, std::move(what), "", std::move(why), ""};
}

}  // namespace

Result<void> Bootstrap::check_variable() {
  const auto kind = chosen_kind();
  if (!kind) return fail(kind.error());
  return {};
}

std::vector<int> World::ranks_of(int node) const {
  std::vector<int> ranks;
  for (int other = 0; other < size; ++other) {
    if (node_of[static_cast<std::size_t>(other)] == node) ranks.push_back(other);
  }
  return ranks;
}

int World::local_rank() const {
  return static_cast<int>(std::count(node_of.begin(), node_of.begin() + rank, node()));
}

int World::local_size() const {
  return static_cast<int>(std::count(node_of.begin(), node_of.end(), node()));
}

std::vector<int> numbered_by_first_ranks(const std::vector<std::string>& names) {
  std::map<std::string_view, int> numbers;
  std::vector<int> nodes;
  nodes.reserve(names.size());
  for (const std::string& name : names) {
    nodes.push_back(numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second);
  }
  return nodes;
}

Bootstrap::Bootstrap(std::unique_ptr<Space> space)
    : space_(std::move(space)), described_(space_->describe()) {
  const Place& place = space_->place();
  world_.rank = place.rank;
  world_.size = place.size;
  world_.job = place.job;
}

Bootstrap::~Bootstrap() {
  if (space_) (void)leave();
}

Result<std::unique_ptr<Bootstrap>> Bootstrap::join() {
  const auto kind = chosen_kind();
  if (!kind) return fail(kind.error());
  auto space = open_space(*kind);
  if (!space) {
    Error error = std::move(space.error());
    error.what = cat("join the job: ", error.what);
    return fail(std::move(error));
  }
  std::unique_ptr<Bootstrap> joined(new Bootstrap(std::move(*space)));
  if (auto found = joined->find_nodes(); !found) return fail(std::move(found.error()));
  return joined;
}

Result<void> Bootstrap::find_nodes() {
  std::vector<std::string> names = space_->place().node_names;
  // All ranks are told the same, so either all exchange or none does.
  if (names.empty()) {
    auto told = exchange(own_node());
    if (!told) return fail(std::move(told.error()));
    names = std::move(*told);
  }
  world_.node_of = numbered_by_first_ranks(names);
  world_.nodes = *std::max_element(world_.node_of.begin(), world_.node_of.end()) + 1;
  return {};
}

std::string Bootstrap::describe() const {
  return described_;
}

Error Bootstrap::during(std::string_view what, Error error) const {
  error.what = cat("rank ", world_.rank, " of ", world_.size, ": ", what, " (", described_, ")");
  return error;
}

Result<void> Bootstrap::put(std::string_view key, std::string_view bytes) {
  const std::string what = cat("put ", bytes.size(), " bytes under '", key, "'");
  if (!space_) return fail(wrong_use(what, "this process has left the job"));
  if (!is_key(key)) {
    return fail(
        wrong_use(what, cat("keys are at most ", kMaxKey, " letters, digits, '.' and '_'")));
  }
  if (bytes.size() > kMaxValue)
    return fail(wrong_use(what, cat("values are at most ", kMaxValue, " bytes")));
  auto done = space_->put(key, bytes);
  if (!done) return fail(during(what, std::move(done.error())));
  return {};
}

Result<void> Bootstrap::fence() {
  if (!space_) return fail(wrong_use("wait for all ranks", "this process has left the job"));
  auto done = space_->fence();
  if (!done) return fail(during("wait for all ranks", std::move(done.error())));
  return {};
}

Result<std::string> Bootstrap::get(int rank, std::string_view key) {
  const std::string what = cat("get what rank ", rank, " has put under '", key, "'");
  if (!space_) return fail(wrong_use(what, "this process has left the job"));
  if (rank < 0 || rank >= world_.size || !is_key(key)) {
    return fail(wrong_use(what, cat("ranks are 0 to ", world_.size - 1, ", keys at most ", kMaxKey,
                                    " letters, digits, '.' and '_'")));
  }
  auto found = space_->get(rank, key);
  if (!found) return fail(during(what, std::move(found.error())));
  return found;
}

Result<std::vector<std::string>> Bootstrap::exchange(std::string_view bytes) {
  const std::string key = cat(".", exchanges_++);
  if (auto done = put(key, bytes); !done) return fail(std::move(done.error()));
  if (auto done = fence(); !done) return fail(std::move(done.error()));
  std::vector<std::string> given;
  given.reserve(static_cast<std::size_t>(world_.size));
  for (int rank = 0; rank < world_.size; ++rank) {
    auto found = get(rank, key);
    if (!found) return fail(std::move(found.error()));
    given.push_back(std::move(*found));
  }
  return given;
}

bool Bootstrap::has_failed(int rank) {
  return space_ && rank >= 0 && rank < world_.size && space_->has_failed(rank);
}

bool Bootstrap::has_left(int rank) {
  return space_ && rank >= 0 && rank < world_.size && space_->has_left(rank);
}

void Bootstrap::abort(int code, std::string_view text) {
  const int status = (code & 255) == 0 ? 1 : code;  // an abort is no success
  // The text comes first: a launcher may end this process before it reads the answer.
  if (!text.empty() && !(space_ && space_->shows_texts())) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  }
  if (space_) space_->abort(status, text);
  std::_Exit(status & 255);
}

Result<void> Bootstrap::leave() {
  if (!space_) return fail(wrong_use("leave the job", "this process has left the job"));
  auto done = space_->leave();
  space_.reset();
  if (!done) return fail(during("leave the job", std::move(done.error())));
  return {};
}

}  // namespace scela::channel
