#include "hca/library/link/join.h"

#include <string.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "common/core/hex.h"
#include "common/os/syscall.h"
#include "hca/core/wire/job_socket.h"
#include "hca/core/wire/joining.h"
#include "hca/library/link/engine_start.h"
#include "hca/library/link/known_device.h"
#include "hca/library/link/own_address.h"
#include "hca/library/verbs/guarded.h"

// The functions that this header declares are for programs.
#pragma GCC visibility push(default)
#include "hca/include/scela/hca_job.h"
#pragma GCC visibility pop

namespace scela::hca::library {

namespace {

constexpr std::size_t kMaxName = 255;

// The description of the job, with its key. It is wiped when it is no longer needed.
class Record {
 public:
  Record() = default;
  ~Record() { clear(); }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  // A string that grows leaves copies behind, so the whole capacity is reserved first.
  std::string& begin() {
    clear();
    text_.reserve(sizeof(JoinAsk::record) + 1);
    return text_;
  }
  const std::string& text() const { return text_; }
  void take(Record& other) {
    text_.swap(other.text_);
    other.clear();
  }

 private:
  void clear() {
    ::explicit_bzero(text_.data(), text_.size());
    text_.clear();
  }
  std::string text_;
};

// The job that this process has named, kept as long as the process lives: another engine may have
// to be told.
struct Joined {
  std::mutex mutex;
  Fd engine;  // this connection keeps the engine there
  Record record;
  std::string job;
  std::uint32_t node = 0;
  std::string socket;
};

Joined& joined() {
  // This is never destroyed: threads may still be about to open the device when the process ends.
  static auto* const the_one = new Joined;
  return *the_one;
}

std::atomic<int> open_devices{0};

// Appends the description as scela-hca reads it (hca/engine/net/fabric_record.h). Returns false if
// a value is invalid; `why` then says which.
bool write_record(const scela_hca_job& job, std::string& record, std::string& why) {
  const std::string name = job.name == nullptr ? "" : job.name;
  if (name.empty() || name.size() > kMaxName || name.find_first_of(" \n") != name.npos) {
    why = "its name is empty, longer than 255 bytes, or has a space in it";
    return false;
  }
  const std::string address = own_address(job.address, why);
  if (address.empty()) return false;
  record += "job " + name + "\nnode " + std::to_string(job.node) + "\nnodes " +
            std::to_string(job.nodes) + "\nlisten " + address + ":0\nencrypt " +
            (job.encrypt != 0 ? "yes" : "no") + "\nkey ";
  append_hex(record, {reinterpret_cast<const char*>(job.key), sizeof job.key});
  record += '\n';
  return true;
}

// Returns 0 or the errno with which the engine answers.
int tell(int engine, const std::string& record) {
  JoinAsk ask;
  if (record.size() > sizeof ask.record) return EINVAL;
  ask.length = static_cast<std::uint32_t>(record.size());
  std::memcpy(ask.record, record.data(), record.size());
  const ssize_t sent = retry([&] { return ::send(engine, &ask, sizeof ask, MSG_NOSIGNAL); });
  ::explicit_bzero(ask.record, sizeof ask.record);
  Answer answer;
  const ssize_t got =
      sent != sizeof ask ? -1 : retry([&] { return ::recv(engine, &answer, sizeof answer, 0); });
  if (got <= 0) return ECONNRESET;
  if (got != sizeof answer || answer.version != kLayoutVersion) return EPROTO;
  return static_cast<int>(answer.error);
}

const char* meaning(int error) {
  switch (error) {
    case EINVAL:
      return "what is said of the job cannot be";
    case EEXIST:
      return "this node's engine was told of another job, key or number, or that nothing is to be "
             "encrypted";
    case EBUSY:
      return "a program of this node opened the device before";
    case EADDRNOTAVAIL:
      return "it cannot listen at this address";
    case EPROTO:
      return "the engine is of another version";
    case ECONNRESET:
      return "the engine has gone";
    default:
      return "it was refused";
  }
}

// Connects to the engine, or starts one, and tells it of the job. Returns 0 or an errno. An engine
// that is dying accepts connections until it has gone; then there is another.
int tell_engine(const std::string& socket, const Record& record, Fd& engine, std::string& why) {
  constexpr int kTries = 3;
  int error = ECONNRESET;
  for (int tries = 0; tries < kTries && error == ECONNRESET; ++tries) {
    Fd made;
    error = connect_engine(socket, made, why);
    if (error != 0) return error;
    error = tell(made.get(), record.text());
    if (error == 0) engine = std::move(made);
  }
  if (error != 0) why = socket + ": " + meaning(error);
  return error;
}

pid_t engine_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

// Tells the present engine of the job, and keeps a connection so that it stays. The caller holds
// the lock of `mine`.
int tell_again(Joined& mine, Fd& made, std::string& why) {
  int error = tell_engine(mine.socket, mine.record, made, why);
  if (error == 0 && engine_of(made.get()) != engine_of(mine.engine.get())) {
    // The description that an earlier engine gave of itself no longer counts.
    remember(Device{});
    error = tell_engine(mine.socket, mine.record, mine.engine, why);
  }
  return error;
}

int fail_to_join(const scela_hca_job& job, int error, const std::string& why) {
  std::fprintf(stderr, "libscela-ibverbs: cannot join job %s as node %u: %s\n",
               job.name == nullptr ? "(null)" : job.name, job.node, why.c_str());
  return error;
}

int join(const scela_hca_job& job) {
  Record record;
  std::string why;
  if (!write_record(job, record.begin(), why)) return fail_to_join(job, EINVAL, why);
  Joined& mine = joined();
  const std::lock_guard lock(mine.mutex);
  if (mine.engine) {
    if (mine.record.text() != record.text()) return EEXIST;
    Fd made;
    const int error = tell_again(mine, made, why);
    return error == 0 ? 0 : fail_to_join(job, error, why);
  }
  if (open_devices.load() > 0) return EBUSY;
  const std::string socket = socket_path(joined_job(job.name, job.node));
  const int error = tell_engine(socket, record, mine.engine, why);
  if (error != 0) return fail_to_join(job, error, why);
  remember(Device{});
  mine.record.take(record);
  mine.job = job.name;
  mine.node = job.node;
  mine.socket = socket;
  return 0;
}

}  // namespace

int connect_told(Fd& socket, std::string& why) {
  Joined& mine = joined();
  const std::lock_guard lock(mine.mutex);
  if (!mine.engine) return connect_engine(socket_path(), socket, why);
  const int error = tell_again(mine, socket, why);
  if (error != 0)
    why = "cannot join job " + mine.job + " as node " + std::to_string(mine.node) + ": " + why;
  return error;
}

void count_open(int more) {
  open_devices.fetch_add(more);
}

}  // namespace scela::hca::library

using namespace scela::hca::library;

extern "C" int scela_hca_join(const scela_hca_job* job) {
  return job == nullptr ? EINVAL : guarded([&] { return join(*job); });
}
