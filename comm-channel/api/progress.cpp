#include "comm-channel/api/progress.h"

#include <algorithm>
#include <ctime>
#include <thread>

namespace scela::channel {

namespace {

// The sleep of a process that is alone and waits for itself: there is nothing to wake it.
constexpr std::chrono::milliseconds kAlone{1};
// How often a rank without a node's doorbell, or one that never waits, checks whether others have
// ended.
constexpr std::chrono::milliseconds kBetweenRollCalls{100};
// The time between two questions to the launcher whether awaited ranks have ended well. The first
// value is that at the beginning and the second is the longest; each question doubles the time. The
// first answer is what is known without asking that rank's node, so two questions are needed.
constexpr std::chrono::milliseconds kFirstQuestion{250};
constexpr std::chrono::seconds kBetweenQuestions{4};

// The number of polls that have moved something before a check happens all the same.
constexpr std::uint32_t kPollsPerLook = 1024;

// This clock has the precision of a tick and costs less than the exact one. It is read whenever
// nothing has come.
std::chrono::nanoseconds coarse_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Timeout shorter(const Timeout& limit, std::chrono::nanoseconds most) {
  return limit && *limit < most ? *limit : most;
}

}  // namespace

void Progress::look_for_ends() {
  if (messenger_.network() != nullptr) {
    messenger_.network()->look_around();
    if (failed_ || !taken_for_ended_.empty())
      messenger_.notice_failures([this](int rank) {
        const auto at = static_cast<std::size_t>(rank);
        return (at < taken_for_ended_.size() && taken_for_ended_[at]) || (failed_ && failed_(rank));
      });
  }
  look_for_leavers();
  shm::NodeLink* const node = messenger_.node();
  if (node != nullptr && node->deaths().count() != deaths_seen_) {
    deaths_seen_ = node->deaths().count();
    messenger_.notice_ends();
  }
  messenger_.notice_solitude();
}

// The first of these checks only begins the time, since most awaited messages come soon.
void Progress::look_for_leavers() {
  if (!left_ || messenger_.network() == nullptr) return;
  const std::chrono::nanoseconds now = coarse_now();
  if (now - looked_for_leavers_ < until_leavers_) return;
  const bool is_first = looked_for_leavers_.count() == 0;
  looked_for_leavers_ = now;
  if (!is_first && messenger_.notice_leavers(left_))
    until_leavers_ = std::min<std::chrono::nanoseconds>(2 * until_leavers_, kBetweenQuestions);
  else
    until_leavers_ = kFirstQuestion;
}

void Progress::mark_exited(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  if (at >= taken_for_ended_.size()) taken_for_ended_.resize(at + 1);
  taken_for_ended_[at] = true;
  look_for_ends();
}

// A rank that does not sleep must ask the system about the others of the node: perhaps no rank
// sleeps.
void Progress::look_now_and_then() {
  const std::chrono::nanoseconds now = coarse_now();
  if (now - looked_ < kBetweenRollCalls) return;
  looked_ = now;
  if (shm::NodeLink* const node = messenger_.node()) node->deaths().find_out();
  look_for_ends();
}

// A rank that always has something to move does not wait, so it checks here.
bool Progress::move_some() {
  if (messenger_.poll() == 0) return false;
  if (++moved_without_a_look_ % kPollsPerLook == 0) look_now_and_then();
  return true;
}

bool Progress::poll() {
  if (move_some()) return true;
  look_now_and_then();
  return false;
}

// ---- sleeping ----

// Returns false if the caller must look once more first.
bool Progress::arm() {
  shm::NodeLink* const node = messenger_.node();
  NetworkSleep* const network = messenger_.network();
  return (network == nullptr || network->arm()) && (node == nullptr || node->sleeping().arm());
}

// Any thread may call this without the lock. If there are other ranks both on the node and
// elsewhere, it sleeps at both. Returns whether something may have come from elsewhere.
bool Progress::doze(const Timeout& limit) {
  shm::NodeLink* const node = messenger_.node();
  NetworkSleep* const network = messenger_.network();
  if (node == nullptr) {
    network->doze(shorter(limit, kBetweenRollCalls));
    return true;
  }
  if (network == nullptr) {
    node->sleeping().doze(limit);
    return false;
  }
  const Timeout timer = network->until_timer();
  return node->sleeping().doze_beside(network->events(), timer ? shorter(limit, *timer) : limit);
}

void Progress::disarm(bool network_too) {
  if (messenger_.node() != nullptr)
    messenger_.node()->sleeping().disarm(network_too ? shm::WokenBy::other : shm::WokenBy::node);
  if (network_too) messenger_.network()->disarm();
}

void Progress::wake() {
  if (messenger_.node() != nullptr)
    messenger_.node()->sleeping().wake_self();
  else if (messenger_.network() != nullptr)
    messenger_.network()->wake();
}

void Progress::wait_for_something(Deadline& deadline) {
  shm::NodeLink* const node = messenger_.node();
  const auto step = node == nullptr ? shm::Waiting::Step::sleep : node->next_step();
  if (step == shm::Waiting::Step::look && messenger_.network() == nullptr) node->look();
  if (step == shm::Waiting::Step::yield) node->yield();
  if (step == shm::Waiting::Step::sleep) {
    if (node == nullptr && messenger_.network() == nullptr) {
      std::this_thread::sleep_for(*shorter(deadline.left(), kAlone));
    } else if (arm()) {
      disarm(doze(deadline.left()));
    }
  }
  look_for_ends();
}

void Progress::wait_for_the_other(std::unique_lock<std::mutex>& lock, Deadline& deadline) {
  if (deadline.until())
    changed_.wait_until(lock, *deadline.until());
  else
    changed_.wait(lock);
}

void Progress::poll_for_all(std::unique_lock<std::mutex>& lock, Deadline& deadline) {
  if (move_some()) {
    changed_.notify_all();
    return;
  }
  somebody_polls_ = true;
  shm::NodeLink* const node = messenger_.node();
  const auto step = node == nullptr ? shm::Waiting::Step::sleep : node->next_step();
  if (step == shm::Waiting::Step::yield) {
    lock.unlock();
    const std::uint64_t took = shm::NodeLink::timed_yield();
    lock.lock();
    node->yielded(took);
  } else if (step == shm::Waiting::Step::look) {
    lock.unlock();
    lock.lock();
  } else if (node == nullptr && messenger_.network() == nullptr) {
    changed_.wait_for(lock, *shorter(deadline.left(), kAlone));
  } else if (arm()) {
    dozing_ = true;
    lock.unlock();
    const bool network_too = doze(deadline.left());
    lock.lock();
    dozing_ = false;
    disarm(network_too);
  }
  look_for_ends();
  somebody_polls_ = false;
  changed_.notify_all();
}

}  // namespace scela::channel
