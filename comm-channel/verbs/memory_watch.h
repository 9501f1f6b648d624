// Whether memory that was looked at is still the same memory: munmap, mremap, madvise, brk and a
// mapping over it are seen, whoever calls them and by whatever way (free, a run-time library, a
// bare system call), because the kernel tells (userfaultfd, UFFD_EVENT_UNMAP and others).
//
// The kernel holds who unmaps until the news of it have been read. Between unmapping and that,
// another thread can get the same addresses anew; then the kernel says that the memory is changing
// (EAGAIN of UFFDIO_WRITEPROTECT). So who asks `is_quiet()` and then takes the news has all that
// happened before. The thread that reads allocates and frees nothing: it would wait for itself.
//
// Only anonymous memory of this process can be watched (heap, stack, mmap without a file): of what
// is shared, shmdt and truncation are not told.
#pragma once

#include <linux/userfaultfd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::channel::verbs {

class MemoryWatch {
 public:
  struct News {
    std::uint64_t begin = 0, end = 0;
    bool emptied = false;  // madvise: the addresses stay, their pages go, at a moment not told
  };
  static constexpr std::size_t kMaxNews = 256;
  struct AllNews {
    std::array<News, kMaxNews> news;
    std::size_t count = 0;
    bool lost = false;  // there were more: anything may have changed
  };

  // Error: this kernel, or this user, cannot (sysctl vm.unprivileged_userfaultfd), or does not tell
  // what it must: found out by unmapping, freeing, moving and emptying memory of its own.
  static Result<std::unique_ptr<MemoryWatch>> start();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;
  ~MemoryWatch();

  // Whole pages. False: it is not memory that can be watched.
  bool watch(std::uint64_t begin, std::uint64_t end);
  void forget(std::uint64_t begin, std::uint64_t end);

  // Waits for news that are being written down. False: memory is changing at this moment.
  bool is_quiet() const;
  // Waits for them only, without a system call where there are none: then what the calling thread
  // itself has unmapped is among the news.
  void wait_until_written() const;
  // Grows with each of the news; equal: there are none new.
  std::uint64_t generation() const { return generation_.load(std::memory_order_seq_cst); }
  void take(AllNews& into);

 private:
  MemoryWatch(Fd faults, Fd stop) : faults_(std::move(faults)), stop_(std::move(stop)) {}
  Result<void> prove();
  bool is_changing() const;
  bool is_told(std::uint64_t begin, std::uint64_t end);
  void run();
  void read_all();
  void write_down(const uffd_msg& message);

  Fd faults_, stop_;
  std::mutex held_;  // the thread reads nothing while somebody has it: for the proof
  mutable std::atomic<std::uint32_t> writing_{0};
  std::atomic<std::uint64_t> generation_{0};
  std::mutex mutex_;  // of all_
  AllNews all_;
  std::thread thread_;
};

}  // namespace scela::channel::verbs
