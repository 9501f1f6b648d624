#include "comm-channel/shm/node_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/affinity.h"
#include "common/os/futex.h"
#include "common/os/syscall.h"

namespace scela::channel::shm {

namespace {

// The process that was to wake a sleeper may have been killed before it did so. So no rank sleeps
// longer than this without looking.
constexpr std::chrono::milliseconds kSlice{100};
// How often poll() may find a cell reserved before the system is asked about its owner.
constexpr std::uint32_t kTriesPerQuestion = 4096;
// The yields before a rank sleeps if processes other than ranks need the processor.
constexpr std::uint32_t kYieldsToOthers = 8;

timespec moment_in(std::chrono::nanoseconds time) {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
  until.tv_sec += whole.count();
  until.tv_nsec += (time - whole).count();
  if (until.tv_nsec >= 1'000'000'000) {
    ++until.tv_sec;
    until.tv_nsec -= 1'000'000'000;
  }
  return until;
}

const std::uint32_t* word_of(const SharedAtomic<std::uint32_t>& word) {
  return reinterpret_cast<const std::uint32_t*>(&word);
}

}  // namespace

Result<std::unique_ptr<NodeLink>> NodeLink::join(std::shared_ptr<const Segment> segment,
                                                 std::uint32_t rank, SleepsBy sleeps_by) {
  auto room = segment->allocate(rank);
  if (!room) return fail(std::move(room.error()));
  std::unique_ptr<NodeLink> link(new NodeLink(std::move(segment), rank));
  if (sleeps_by == SleepsBy::pipe)
    if (auto made = link->make_pipe_to_sleep_by(); !made) return fail(std::move(made.error()));
  link->join_in();
  return link;
}

NodeLink::NodeLink(std::shared_ptr<const Segment> segment, std::uint32_t rank)
    : segment_(std::move(segment)),
      rank_(rank),
      barrier_(Barrier::make()),
      exchange_(segment_->shape(), rank, segment_->areas(), system_),
      processes_(segment_, rank),
      probe_(
          std::make_unique<std::uint64_t>(Processes::probe_value(segment_->place().nonce, rank))),
      pipes_(segment_->shape().ranks) {
  segment_->member(rank_).pipe = -1;
}

// Marks the rank as left before its probe is gone.
NodeLink::~NodeLink() {
  segment_->member(rank_).joined.store(kLeft, std::memory_order_release);
}

Result<void> NodeLink::make_pipe_to_sleep_by() {
  auto made = make_pipe();
  struct stat status {};
  if (!made) return fail(std::move(made.error()));
  if (!set_nonblocking(made->read.get()) || !set_nonblocking(made->write.get()) ||
      ::fstat(made->read.get(), &status) != 0)
    return fail(os_error(ErrorKind::io, "make a pipe to be woken by", errno));
  pipe_ = std::move(made->read);
  pipes_[rank_] = std::move(made->write);
  Member& member = segment_->member(rank_);
  member.pipe = pipe_.get();
  member.pipe_inode = status.st_ino;
  return {};
}

// Opens the pipe by /proc, like the segment: a rank that may not look there does not get here. The
// descriptor is open for both ends, so that the end of the reader is no signal for the writer.
int NodeLink::pipe_of(std::uint32_t rank) {
  const Member& member = segment_->member(rank);
  if (member.pipe < 0) return -1;
  Fd& known = pipes_[rank];
  if (known) return known.get();
  const std::uint64_t started = start_of(member.pid);
  if (started != 0 && started != member.started) return -1;
  Fd opened(::open(cat("/proc/", member.pid, "/fd/", member.pipe).c_str(),
                   O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  // A process of that number may be another one by now.
  if (!opened || ::fstat(opened.get(), &status) != 0 || !S_ISFIFO(status.st_mode) ||
      status.st_ino != member.pipe_inode)
    return -1;
  known = std::move(opened);
  return known.get();
}

void NodeLink::wake(std::uint32_t rank, SharedAtomic<std::uint32_t>& word) {
  const int pipe = pipe_of(rank);
  if (pipe < 0) return futex_wake(word_of(word));
  // If the pipe is full, the rank wakes as well.
  static_cast<void>(retry([&] { return ::write(pipe, "", 1); }));
}

void NodeLink::join_in() {
  // If only a process's ancestors may look at it (yama), this lets the other ranks do so as well.
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  Member& member = segment_->member(rank_);
  member.pid = ::getpid();
  member.started = start_of(member.pid);
  member.probe = reinterpret_cast<std::uint64_t>(probe_.get());
  member.barrier = barrier_.works() ? 1 : 0;
  for (const int cpu : allowed_cpus())
    if (static_cast<std::uint32_t>(cpu) < kCpuWords * 64)
      member.cpus[static_cast<std::uint32_t>(cpu) / 64] |= std::uint64_t{1} << (cpu % 64);
  member.joined.store(kJoined, std::memory_order_release);
}

std::vector<int> NodeLink::processors_of(std::uint32_t rank) const {
  std::vector<int> processors;
  const Member& member = segment_->member(rank);
  if (member.joined.load(std::memory_order_acquire) == 0) return processors;
  for (std::uint32_t cpu = 0; cpu < kCpuWords * 64; ++cpu)
    if ((member.cpus[cpu / 64] >> (cpu % 64) & 1) != 0) processors.push_back(static_cast<int>(cpu));
  return processors;
}

void NodeLink::settle() {
  fences_ = false;
  for (std::uint32_t peer = 0; peer < ranks(); ++peer) {
    const Member& member = segment_->member(peer);
    const bool trusted = barrier_.works() && member.joined.load(std::memory_order_acquire) != 0 &&
                         member.barrier != 0;
    if (trusted)
      exchange_.trust_barrier(peer);
    else
      fences_ = true;
  }
  if (!fences_) exchange_.trust_all_barriers();
  find_out_whether_it_can_read();
  crowded_ = is_crowded();
  WaitLimits patience;
  patience.crowded = crowded_;
  waiting_ = Waiting(patience);
}

void NodeLink::share_processors() {
  crowded_ = true;
  WaitLimits patience;
  patience.crowded = true;
  patience.yields = kYieldsToOthers;
  waiting_ = Waiting(patience);
}

// Tries the next rank that is still there. A rank that has left or ended cannot be read, which says
// nothing about the others.
void NodeLink::find_out_whether_it_can_read() {
  can_read_ = true;
  for (std::uint32_t i = 1; i < std::max(ranks(), 2u); ++i) {
    const std::uint32_t peer = (rank_ + i) % ranks();
    Copied probed = processes_.probe(peer);
    const bool left = segment_->member(peer).joined.load(std::memory_order_acquire) == kLeft;
    if (!probed && (left || processes_.has_ended(peer))) continue;
    can_read_ = static_cast<bool>(probed);
    why_not_ = std::move(probed.error);
    return;
  }
}

// Returns whether more ranks may run on this rank's processors than there are of these. A rank that
// may run on several processors counts as a part of one on each.
bool NodeLink::is_crowded() const {
  const auto& own = segment_->member(rank_).cpus;
  const auto count = [](const auto& cpus) {
    int total = 0;
    for (const std::uint64_t word : cpus)
      total += std::popcount(word);
    return total;
  };
  const int here = count(own);
  if (here == 0) return false;  // its processors are not known
  double load = 0;
  for (std::uint32_t peer = 0; peer < ranks(); ++peer) {
    std::array<std::uint64_t, kCpuWords> both = segment_->member(peer).cpus;
    const int all = count(both);
    for (std::uint32_t i = 0; i < kCpuWords; ++i)
      both[i] &= own[i];
    if (all != 0) load += static_cast<double>(count(both)) / all;
  }
  return load > here + 1e-6;
}

bool NodeLink::System::gone(std::uint32_t peer, std::uint32_t tries) {
  if (peer >= link.ranks()) return true;
  if (link.dead(peer)) return true;
  return (tries + 1) % kTriesPerQuestion == 0 && link.find_out(peer);
}

bool NodeLink::System::make_box(std::uint32_t number) {
  if (!link.segment_->allocate_box(link.rank_, number)) return false;
  ++link.boxes_made_;
  return true;
}

std::uint64_t NodeLink::timed_yield() {
  const std::uint64_t before = monotonic_ns();
  ::sched_yield();
  return monotonic_ns() - before;
}

bool NodeLink::arm() {
  if (!exchange_.arm()) return false;
  if (deaths() == deaths_seen_) return true;
  deaths_seen_ = deaths();
  exchange_.disarm();
  return false;
}

void NodeLink::doze(std::optional<std::chrono::nanoseconds> limit) {
  const timespec until =
      moment_in(std::min<std::chrono::nanoseconds>(limit.value_or(kSlice), kSlice));
  futex_wait(word_of(exchange_.asleep()), 1, &until);
}

bool NodeLink::doze_beside(int descriptor, std::optional<std::chrono::nanoseconds> limit) {
  std::array<pollfd, 2> watched{{{pipe_.get(), POLLIN, 0}, {descriptor, POLLIN, 0}}};
  const auto most = std::min<std::chrono::nanoseconds>(limit.value_or(kSlice), kSlice);
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(most);
  const timespec time{whole.count(), (most - whole).count()};
  ::ppoll(watched.data(), watched.size(), &time, nullptr);
  // Reads also a byte that another rank has written late, for the sleep before.
  std::array<std::byte, 64> ignored;
  if (watched[0].revents != 0)
    static_cast<void>(::read(pipe_.get(), ignored.data(), ignored.size()));
  return watched[1].revents != 0;
}

void NodeLink::disarm(bool woken) {
  ++sleeps_;
  const bool rung = exchange_.asleep().load(std::memory_order_acquire) == 0;
  exchange_.disarm();
  woken = woken || rung;
  if (woken)
    ++sleeps_woken_;
  else
    find_out();
}

void NodeLink::sleep(std::optional<std::chrono::nanoseconds> limit) {
  if (limit && limit->count() <= 0) return;
  if (!arm()) return;
  doze(limit);
  disarm();
}

bool NodeLink::find_out(std::uint32_t peer) {
  if (dead(peer)) return true;
  if (!processes_.has_ended(peer)) return false;
  tell_ended(peer);
  return true;
}

void NodeLink::find_out() {
  for (const std::uint32_t peer : processes_.newly_ended())
    tell_ended(peer);
}

void NodeLink::tell_ended(std::uint32_t peer) {
  if (segment_->ended(peer).exchange(1, std::memory_order_acq_rel) != 0) return;
  segment_->deaths().fetch_add(1, std::memory_order_acq_rel);
  for (std::uint32_t other = 0; other < ranks(); ++other)
    if (other != rank_) exchange_.wake(other);
}

std::uint64_t NodeLink::shared_bytes() const {
  const Shape& shape = segment_->shape();
  return Segment::bytes_of_rank(shape, false) +
         std::uint64_t{boxes_made_} * (shape.box_lines * kLineBytes + shape.box_bytes);
}

std::string NodeLink::describe() const {
  return cat("node: ", ranks(), " ranks, ", crowded_ ? "more than" : "not more than",
             " processors for them; large messages ",
             can_read_ ? std::string("copied once") : cat("in pieces (", why_not_.text(), ")"),
             fences_ ? "; senders fence (no membarrier)" : "");
}

}  // namespace scela::channel::shm
