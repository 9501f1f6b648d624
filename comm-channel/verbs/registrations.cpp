#include "comm-channel/verbs/registrations.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace scela::channel::verbs {

namespace {

// Above this number, nothing is kept: programs that empty so many places would pay for a check of
// them all.
constexpr std::size_t kMaxEmptied = 64;

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

bool is_turned_off() {
  const char* const wanted = std::getenv("SCELA_CHANNEL_REGISTRATION_CACHE");
  return wanted != nullptr && std::string_view(wanted) == "0";
}

}  // namespace

Registration& Registration::operator=(Registration&& other) noexcept {
  if (this != &other) {
    reset();
    owner_ = std::exchange(other.owner_, nullptr);
    kept_ = std::exchange(other.kept_, true);
    id_ = other.id_;
    lkey_ = other.lkey_;
    rkey_ = other.rkey_;
  }
  return *this;
}

void Registration::reset() {
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->release(id_, std::exchange(kept_, true));
}

Registrations::Registrations(const Symbols& symbols, const Pd& pd, std::uint64_t max_unused)
    : symbols_(symbols), pd_(pd), map_(max_unused) {
  if (is_turned_off()) {
    why_ = "SCELA_CHANNEL_REGISTRATION_CACHE is 0";
    return;
  }
  auto watch = MemoryWatch::start();
  if (watch) {
    watch_ = std::move(*watch);
  } else {
    why_ = watch.error().text();
  }
}

Registrations::Counts Registrations::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.bytes = map_.bytes();
  return counts;
}

Registration Registrations::use(RegistrationMap::Id id) {
  const ibv_mr* const mr = regions_.at(id).mr.get();
  Registration used;
  used.owner_ = this;
  used.id_ = id;
  used.lkey_ = mr->lkey;
  used.rkey_ = mr->rkey;
  return used;
}

// Takes the news about memory since the last time, so that changed memory is not found any more.
// The caller holds the mutex.
void Registrations::take_news() {
  if (watch_ == nullptr || watch_->generation() == generation_) return;
  generation_ = watch_->generation();  // first: later news are seen next time
  MemoryWatch::AllNews news;
  watch_->take(news);
  if (news.lost) map_.invalidate_all();
  for (std::size_t i = 0; i < news.count; ++i) {
    const Range range{news.news[i].begin, news.news[i].end};
    map_.invalidate(range);
    ++counts_.gone;
    if (!news.news[i].emptied || too_many_emptied_) continue;
    const bool known = std::any_of(emptied_.begin(), emptied_.end(),
                                   [&](const Range& other) { return other.covers(range); });
    if (!known) emptied_.push_back(range);
    if (emptied_.size() > kMaxEmptied) too_many_emptied_ = true;
  }
  if (news.lost) too_many_emptied_ = true;
}

bool Registrations::may_keep(const Range& range) const {
  return watch_ != nullptr && !too_many_emptied_ &&
         std::none_of(emptied_.begin(), emptied_.end(),
                      [&](const Range& other) { return other.overlaps(range); });
}

// Returns what the map has dropped. The caller frees it after it has released the mutex, since that
// may unmap watched memory.
std::vector<Registrations::Kept> Registrations::take_dropped() {
  std::vector<Kept> gone;
  for (const RegistrationMap::Id id : map_.take_dropped()) {
    const auto at = regions_.find(id);
    if (at->second.watched) forget(at->second.range);
    gone.push_back(std::move(at->second));
    regions_.erase(at);
    ++counts_.given_back;
  }
  return gone;
}

// Stops watching the range, unless another one needs it. The caller holds the mutex.
void Registrations::forget(const Range& range) {
  if (map_.overlaps(range)) return;
  watch_->forget(range.begin, range.end);
  ++forgotten_;
}

void Registrations::settle() {
  if (watch_ == nullptr) return;
  watch_->wait_until_written();
  std::vector<Kept> gone;
  const std::lock_guard lock(mutex_);
  take_news();
  gone = take_dropped();
}

Result<Registration> Registrations::get(void* address, std::size_t bytes, For what) {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
  const Range range{at / page * page,
                    (at + std::max<std::size_t>(bytes, 1) + page - 1) / page * page};
  std::vector<Kept> gone;  // freed after the mutex is released
  Looked looked;
  {
    // This may block, so it is called without the mutex.
    const bool quiet = watch_ != nullptr && watch_->is_quiet();
    const std::lock_guard lock(mutex_);
    take_news();
    gone = take_dropped();
    if (quiet) {
      if (const auto found = map_.use(range)) {
        ++counts_.found;
        return use(*found);
      }
    }
    looked = {generation_, forgotten_,
              quiet && may_keep(range) && watch_->watch(range.begin, range.end)};
  }
  // Whole pages are registered, as a later lookup covers whole pages.
  auto mr = reg_mr(symbols_, pd_, reinterpret_cast<void*>(range.begin), range.bytes(), kAccess);
  looked.watched = looked.watched && mr.has_value();
  if (!mr && what == For::sending) mr = reg_mr(symbols_, pd_, address, bytes, 0);
  if (!mr) return fail(std::move(mr.error()));
  return enter(std::move(*mr), range, looked);
}

// Enters a new region. News since its memory was watched may concern a change before or after the
// registration: it is not kept then.
Registration Registrations::enter(Mr mr, const Range& range, const Looked& looked) {
  const bool quiet = looked.watched && watch_->is_quiet();
  const std::lock_guard lock(mutex_);
  const bool kept =
      quiet && watch_->generation() == looked.generation && forgotten_ == looked.forgotten;
  if (looked.watched && !kept) forget(range);
  const RegistrationMap::Id id = map_.add(range, kept);
  regions_.emplace(id, Kept{std::move(mr), range, kept});
  ++counts_.made;
  return use(id);
}

void Registrations::release(RegistrationMap::Id id, bool kept) {
  std::vector<Kept> gone;
  const std::lock_guard lock(mutex_);
  if (!kept) map_.invalidate(regions_.at(id).range);
  map_.release(id);
  gone = take_dropped();
}

}  // namespace scela::channel::verbs
