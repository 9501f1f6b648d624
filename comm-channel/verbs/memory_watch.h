// Tells whether registered memory is still the same memory. Registrations uses it.
//
// It sees munmap, mremap, madvise, brk and a mapping over the memory, because the kernel reports
// them (userfaultfd, UFFD_EVENT_UNMAP and others). The caller does not matter: free, a run-time
// library, a bare system call.
//
// The kernel holds the thread that unmaps until its report has been read. Between unmapping and
// that, another thread can get the same addresses anew. The kernel then says that the memory is
// changing (EAGAIN of UFFDIO_WRITEPROTECT). So a caller of `is_quiet()` that then takes the news
// has all that happened before. The thread that reads allocates and frees nothing: it would wait
// for itself.
//
// Only anonymous memory of this process can be watched (heap, stack, mmap without a file). For
// shared memory, shmdt and truncation are not reported. Any thread may call it.
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
  // A range of addresses that is no longer what it was; without `end`.
  struct News {
    std::uint64_t begin = 0, end = 0;
    bool emptied = false;  // madvise: its pages go, some time later
  };
  static constexpr std::size_t kMaxNews = 256;
  struct AllNews {
    std::array<News, kMaxNews> news;
    std::size_t count = 0;
    bool lost = false;  // too many: anything may have changed
  };

  // Returns an error if this kernel or this user cannot do it (sysctl vm.unprivileged_userfaultfd),
  // or if the kernel does not report what it must. That is found out by unmapping, freeing, moving
  // and emptying memory of its own.
  static Result<std::unique_ptr<MemoryWatch>> start();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;
  ~MemoryWatch();

  // Begins to watch a range of whole pages. Returns false if it is not memory that can be watched.
  bool watch(std::uint64_t begin, std::uint64_t end);
  // Ends the watch of the range. Reports that are on their way may still come.
  void forget(std::uint64_t begin, std::uint64_t end);

  // Blocks until reports that are being recorded are there. Returns false if memory is changing at
  // this moment.
  bool is_quiet() const;
  // Only blocks until they are recorded, without a system call if there are none. Afterwards, the
  // news include what the calling thread itself has unmapped.
  void wait_until_written() const;
  // Returns a number that grows with each of the news. If it is unchanged, there are none new.
  std::uint64_t generation() const { return generation_.load(std::memory_order_seq_cst); }
  // Moves the news since the last call into `into`.
  void take(AllNews& into);

 private:
  MemoryWatch(Fd faults, Fd stop) : faults_(std::move(faults)), stop_(std::move(stop)) {}
  // Changes memory of its own in each way, and returns an error if one is not reported.
  Result<void> prove();
  // Returns whether a thread is unmapping watched memory just now.
  bool is_changing() const;
  // Returns whether the news since the last call cover the range. It takes them.
  bool is_told(std::uint64_t begin, std::uint64_t end);
  // The thread: run() reads the reports until the destructor ends it.
  void run();
  // Waits for reports and records them, until the destructor ends it. Locks `held_` while it reads.
  void read_all();
  // Adds one report to the news.
  void write_down(const uffd_msg& message);

  Fd faults_, stop_;
  std::mutex held_;  // the thread reads nothing meanwhile
  mutable std::atomic<std::uint32_t> writing_{0};
  std::atomic<std::uint64_t> generation_{0};  // grows with each of the news
  std::mutex mutex_;                          // guards all_
  AllNews all_;
  std::thread thread_;
};

}  // namespace scela::channel::verbs
