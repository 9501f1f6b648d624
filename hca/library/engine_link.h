// The connection of an open device to its engine: questions, and the memory that both share.
//
// Any thread may ask; one at a time is answered. A link that has broken stays so: every question is
// answered by EIO.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "common/os/fd.h"
#include "common/os/sealed_memory.h"
#include "hca/core/bells.h"
#include "hca/core/messages.h"
#include "hca/library/helper.h"
#include "hca/library/service.h"

namespace scela::hca::library {

// The path of the engine's socket: SCELA_HCA_SOCKET, else one of this user's and this job's, as the
// launcher has named it, or as `job` says (job_socket.h).
std::string socket_path();
std::string socket_path(const std::string& job);
// Connects to the engine that listens there; where none does, starts one that ends with its last
// process. Error: errno, and `why` says what was tried.
int connect_engine(const std::string& path, Fd& socket, std::string& why);

class EngineLink {
 public:
  EngineLink() = default;
  // The connection ends for all who hold it: a child of this process may still have a copy.
  ~EngineLink();
  // 0, or errno; `why` says what was tried.
  int open(std::string& why);

  // The engine's answer; descriptors that come with it beside chunks go to `handed` if there are as
  // many as `wanted`. The error is EIO if the engine is gone.
  Answer ask(const Ask& ask, Fd* handed = nullptr, std::size_t wanted = 0) {
    return converse(ask, -1, handed, wanted);
  }
  // The engine gets that file with it.
  Answer hand_over(const Ask& ask, const Fd& file) { return converse(ask, file.get(), nullptr, 0); }

  // Null: the region is empty or not within the chunks.
  std::byte* at(const Region& region, std::uint64_t at_least);
  // Its queue has gone. Memory that was made for it alone is not mapped any more.
  void release(const Region& region);

  // Says that a queue has something new: to an engine that is awake, or so that it wakes.
  void mark(std::uint32_t bell) { hca::mark(*page_, bell); }
  void ring(std::uint32_t bell) {
    if (hca::ring(*page_, *engine_page_, bell)) wake();
  }

  // Until the engine touches nothing any more that it has let go of (Service).
  void settle() const { service_.settle(); }

  // Moves what a long message waits for (Helper): a poll has found nothing.
  bool help() {
    return helper_.help([this] { return look(); });
  }
  bool help_is_wanted() const { return helper_.is_wanted(); }

  bool gone() const { return gone_.load(std::memory_order_acquire); }
  // Looks whether the engine still holds its end.
  bool look();

  ProcessPage& page() { return *page_; }
  const Device& device() const { return device_; }
  int socket() const { return socket_.get(); }
  int events() const { return events_.get(); }

 private:
  void wake();
  int greet(const Ask& hello, Answer& answer, std::vector<Fd>& fds, std::string& why);
  Answer converse(const Ask& ask, int file, Fd* handed, std::size_t wanted);
  bool exchange(const Ask& ask, int file, Answer& answer, std::vector<Fd>& fds);
  bool take_chunks(std::vector<Fd>& fds, std::size_t from);
  bool serve(const Region& area, Fd file);

  std::mutex mutex_;
  Fd socket_;
  Fd wake_;
  Fd events_;
  std::vector<SealedMemory> chunks_;
  std::vector<SealedMemory> engine_memory_;  // one, once it is there
  ProcessPage* page_ = nullptr;
  EnginePage* engine_page_ = nullptr;
  Device device_;
  std::atomic<bool> gone_{false};
  Helper helper_;
  Service service_;  // ends before what it uses
};

}  // namespace scela::hca::library
