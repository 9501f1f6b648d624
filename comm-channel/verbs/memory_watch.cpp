#include "comm-channel/verbs/memory_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <system_error>
#include <utility>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::channel::verbs {

namespace {

constexpr std::uint64_t kEvents =
    UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE;
constexpr std::size_t kProofBytes = std::size_t{4} << 20;  // more than malloc takes from its heap

Error cannot(std::string why) {
  return Error{ErrorKind::io, "watch memory", "", std::move(why),
               "without it memory is registered for each message: allow userfaultfd (sysctl "
               "vm.unprivileged_userfaultfd=1, or the container's seccomp filter)"};
}

std::uint64_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

void* map_pages() {
  void* const pages =
      ::mmap(nullptr, kProofBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

}  // namespace

Result<std::unique_ptr<MemoryWatch>> MemoryWatch::start() {
  Fd faults(
      static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
  if (!faults) faults.reset(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
  if (!faults) return fail(cannot(cat("userfaultfd: ", errno_text(errno))));
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = kEvents;
  if (::ioctl(faults.get(), UFFDIO_API, &api) != 0) {
    return fail(cannot(cat("this kernel does not tell of unmapped memory: ", errno_text(errno))));
  }
  Fd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop) return fail(os_error(ErrorKind::io, "make an eventfd", errno));
  std::unique_ptr<MemoryWatch> made(new MemoryWatch(std::move(faults), std::move(stop)));
  // The program's signals must not be handled in this thread.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string why;
  try {
    made->thread_ = std::thread(&MemoryWatch::run, made.get());
  } catch (const std::system_error& error) {
    why = cat("no thread: ", error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!why.empty()) return fail(cannot(std::move(why)));
  if (auto proved = made->prove(); !proved) return fail(std::move(proved.error()));
  return made;
}

MemoryWatch::~MemoryWatch() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

bool MemoryWatch::watch(std::uint64_t begin, std::uint64_t end) {
  uffdio_register asked{};
  asked.range = {begin, end - begin};
  // Only shared memory can be registered in this mode.
  asked.mode = UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP;
  if (::ioctl(faults_.get(), UFFDIO_REGISTER, &asked) == 0) {
    forget(begin, end);
    return false;
  }
  asked.mode = UFFDIO_REGISTER_MODE_WP;  // only for news, never for faults
  return ::ioctl(faults_.get(), UFFDIO_REGISTER, &asked) == 0;
}

void MemoryWatch::forget(std::uint64_t begin, std::uint64_t end) {
  uffdio_range range{begin, end - begin};
  ::ioctl(faults_.get(), UFFDIO_UNREGISTER, &range);
}

// The kernel refuses this while a thread unmaps watched memory. It does so before it looks at the
// range, which is empty and refused too.
bool MemoryWatch::is_changing() const {
  uffdio_writeprotect nothing{};
  return ::ioctl(faults_.get(), UFFDIO_WRITEPROTECT, &nothing) != 0 && errno == EAGAIN;
}

bool MemoryWatch::is_quiet() const {
  if (is_changing()) return false;
  wait_until_written();
  return true;
}

void MemoryWatch::wait_until_written() const {
  while (writing_.load(std::memory_order_seq_cst) != 0)
    writing_.wait(1, std::memory_order_seq_cst);
}

void MemoryWatch::take(AllNews& into) {
  const std::lock_guard lock(mutex_);
  into.count = all_.count;
  into.lost = all_.lost;
  for (std::size_t i = 0; i < all_.count; ++i)
    into.news[i] = all_.news[i];
  all_.count = 0;
  all_.lost = false;
}

void MemoryWatch::write_down(const uffd_msg& message) {
  News news;
  if (message.event == UFFD_EVENT_REMAP) {
    news = {message.arg.remap.from, message.arg.remap.from + message.arg.remap.len, false};
  } else if (message.event == UFFD_EVENT_UNMAP || message.event == UFFD_EVENT_REMOVE) {
    news = {message.arg.remove.start, message.arg.remove.end, message.event == UFFD_EVENT_REMOVE};
  } else {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (all_.count < kMaxNews) {
    all_.news[all_.count++] = news;
  } else {
    all_.lost = true;
  }
  generation_.fetch_add(1, std::memory_order_seq_cst);
}

void MemoryWatch::run() {
  read_all();
  // This precedes the join by another thread. Joining may unmap watched memory, and the kernel
  // would block it for ever, as nothing is read any more.
  faults_.reset();
}

void MemoryWatch::read_all() {
  pollfd looked[2] = {{faults_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (::poll(looked, 2, -1) < 0 && errno != EINTR) return;
    if ((looked[1].revents & POLLIN) != 0) {
      // From here on, this thread knows what was done before the end of the watch.
      std::uint64_t told = 0;
      (void)!::read(stop_.get(), &told, sizeof told);
      return;
    }
    const std::lock_guard held(held_);
    // This precedes reading the news, since the thread that unmapped then goes on.
    writing_.store(1, std::memory_order_seq_cst);
    uffd_msg message{};
    while (::read(faults_.get(), &message, sizeof message) == sizeof message)
      write_down(message);
    writing_.store(0, std::memory_order_seq_cst);
    writing_.notify_all();
  }
}

// Returns whether the news since the last call cover this range.
bool MemoryWatch::is_told(std::uint64_t begin, std::uint64_t end) {
  if (!is_quiet()) return false;
  AllNews news;
  take(news);
  for (std::size_t i = 0; i < news.count; ++i) {
    if (news.news[i].begin <= begin && end <= news.news[i].end) return true;
  }
  return false;
}

Result<void> MemoryWatch::prove() {
  const auto not_told = [](const char* of) {
    return fail(cannot(cat("the kernel does not tell of ", of)));
  };
  // Each of these ways to unmap must be reported by the time its call has returned.
  const std::pair<const char*, std::function<void(void*)>> ways[] = {
      {"munmap", [](void* at) { ::munmap(at, kProofBytes); }},
      {"mremap",
       [](void* at) {
         void* const place = map_pages();
         void* const moved = place == nullptr ? MAP_FAILED
                                              : ::mremap(at, kProofBytes, kProofBytes,
                                                         MREMAP_MAYMOVE | MREMAP_FIXED, place);
         if (moved != MAP_FAILED) ::munmap(moved, kProofBytes);
       }},
      {"a mapping over it",
       [](void* at) {
         ::mmap(at, kProofBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
         ::munmap(at, kProofBytes);
       }},
      {"madvise", [](void* at) { ::madvise(at, kProofBytes, MADV_DONTNEED); }},
  };
  for (const auto& [name, way] : ways) {
    void* const pages = map_pages();
    if (pages == nullptr || !watch(number_of(pages), number_of(pages) + kProofBytes)) {
      return not_told("anonymous memory");
    }
    way(pages);
    if (!is_told(number_of(pages), number_of(pages) + kProofBytes)) return not_told(name);
  }
  // This checks memory that free gives back to the system. If malloc keeps it, the same pages stay,
  // and there are no news.
  void* const block = std::malloc(kProofBytes);
  if (block == nullptr) return not_told("memory that there is not");
  const std::uint64_t page = (number_of(block) + 4095) & ~std::uint64_t{4095};
  if (!watch(page, page + 4096)) return not_told("what malloc gives");
  std::free(block);
  unsigned char seen = 0;
  const bool gone = ::mincore(reinterpret_cast<void*>(page), 4096, &seen) != 0 && errno == ENOMEM;
  if (gone && !is_told(page, page + 4096)) return not_told("free");
  // The kernel must also say that memory changes until the news of it have been read.
  void* const pages = map_pages();
  if (pages == nullptr || !watch(number_of(pages), number_of(pages) + kProofBytes)) {
    return not_told("anonymous memory");
  }
  std::unique_lock held(held_);
  std::thread other([pages] { ::munmap(pages, kProofBytes); });
  pollfd waiting{faults_.get(), POLLIN, 0};
  ::poll(&waiting, 1, 1000);
  const bool changing = is_changing();
  held.unlock();
  other.join();
  if (!changing || !is_told(number_of(pages), number_of(pages) + kProofBytes)) {
    return not_told("memory that is changing");
  }
  return {};
}

}  // namespace scela::channel::verbs
