#include "hca/library/join.h"

#include <string.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <mutex>

#include "common/os/syscall.h"
#include "hca/core/job_socket.h"
#include "hca/core/joining.h"
#include "hca/library/device.h"
#include "hca/library/engine_link.h"
#include "hca/library/objects.h"
#include "hca/library/own_address.h"

// What it declares is for programs.
#pragma GCC visibility push(default)
#include "hca/include/scela/hca_job.h"
#pragma GCC visibility pop

namespace scela::hca::library {

namespace {

constexpr std::size_t kMostName = 255;

// What this process has named, kept as long as it lives.
struct Joined {
  std::mutex mutex;
  Fd engine;  // the connection that keeps the engine there
  std::string record;
  std::string socket;
};

Joined& joined() {
  // Never destroyed: threads may still be about to open the device when the process ends.
  static auto* const the_one = new Joined;
  return *the_one;
}

std::atomic<int> open_devices{0};

// As scela-hca is told it (fabric_record.h). False: a word of it cannot be, and `why` says which.
bool write_record(const scela_hca_job& job, std::string& record, std::string& why) {
  const std::string name = job.name == nullptr ? "" : job.name;
  if (name.empty() || name.size() > kMostName || name.find_first_of(" \n") != name.npos) {
    why = "its name is empty, longer than 255 bytes, or has a space in it";
    return false;
  }
  const std::string address = own_address(job.address, why);
  if (address.empty()) return false;
  record = "job " + name + "\nnode " + std::to_string(job.node) + "\nnodes " +
           std::to_string(job.nodes) + "\nlisten " + address + ":0\nencrypt " +
           (job.encrypt != 0 ? "yes" : "no") + "\nkey ";
  for (const unsigned char byte : job.key) {
    record += "0123456789abcdef"[byte >> 4];
    record += "0123456789abcdef"[byte & 15];
  }
  record += '\n';
  return true;
}

// 0, or what the engine says.
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
      return "the engine is of another version, or has gone";
    default:
      return "it was refused";
  }
}

int fail_to_join(const scela_hca_job& job, int error, const std::string& why) {
  std::fprintf(stderr, "libscela-ibverbs: cannot join job %s as node %u: %s\n",
               job.name == nullptr ? "(null)" : job.name, job.node, why.c_str());
  return error;
}

int join(const scela_hca_job& job) {
  std::string record, why;
  if (!write_record(job, record, why)) return fail_to_join(job, EINVAL, why);
  Joined& mine = joined();
  const std::lock_guard lock(mine.mutex);
  if (mine.engine) return mine.record == record ? 0 : EEXIST;
  if (open_devices.load() > 0) return EBUSY;
  const std::string socket = socket_path(told_job(job.name, job.node));
  Fd engine;
  int error = connect_engine(socket, engine, why);
  if (error != 0) return fail_to_join(job, error, why);
  error = tell(engine.get(), record);
  if (error != 0) return fail_to_join(job, error, socket + ": " + meaning(error));
  mine.engine = std::move(engine);
  mine.record = std::move(record);
  mine.socket = socket;
  // What another engine has said of itself does not count any more.
  remember(Device{});
  return 0;
}

}  // namespace

std::string joined_socket() {
  const std::lock_guard lock(joined().mutex);
  return joined().socket;
}

void count_open(int more) {
  open_devices.fetch_add(more);
}

}  // namespace scela::hca::library

using namespace scela::hca::library;

extern "C" int scela_hca_join(const scela_hca_job* job) {
  return job == nullptr ? EINVAL : guarded([&] { return join(*job); });
}
