#include "comm-channel/bootstrap/pmix_deaths.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

namespace scela::channel {

namespace {

struct Deaths {
  std::atomic<std::size_t> count{0};
  std::mutex mutex;  // of what follows
  std::string name_space;
  std::vector<pmix_rank_t> ranks;
};

Deaths& deaths() {
  static Deaths* const kept = new Deaths;  // no end of the program may be before the last event
  return *kept;
}

bool is_a_death(pmix_status_t status) {
  constexpr pmix_status_t kDeaths[] = {PMIX_PROC_TERMINATED,       PMIX_ERR_PROC_TERM_WO_SYNC,
                                       PMIX_EVENT_PROC_TERMINATED, PMIX_ERR_PROC_ABORTED_BY_SIG,
                                       PMIX_ERR_EXIT_NONZERO_TERM,
#ifdef PMIX_ERR_PROC_ABORTED
                                       PMIX_ERR_PROC_ABORTED,
#endif
#ifdef PMIX_ERR_PROC_ABORTING
                                       PMIX_ERR_PROC_ABORTING
#endif
  };
  return std::ranges::find(kDeaths, status) != std::end(kDeaths);
}

void note(const pmix_proc_t& who) {
  Deaths& all = deaths();
  const std::lock_guard lock(all.mutex);
  if (all.name_space != who.nspace || who.rank > PMIX_RANK_VALID) return;
  if (std::ranges::find(all.ranks, who.rank) != all.ranks.end()) return;
  all.ranks.push_back(who.rank);
  all.count.store(all.ranks.size(), std::memory_order_release);
}

// Some name the dead by the source, some by an attribute, and the source is who tells.
void told(std::size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t* infos,
          std::size_t count, pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t next,
          void* data) {
  if (is_a_death(status)) {
    bool named = false;
    for (std::size_t i = 0; i < count; ++i) {
      const pmix_info_t& info = infos[i];
      if (std::strncmp(info.key, PMIX_EVENT_AFFECTED_PROC, PMIX_MAX_KEYLEN) != 0 ||
          info.value.type != PMIX_PROC || info.value.data.proc == nullptr)
        continue;
      named = true;
      note(*info.value.data.proc);
    }
    if (!named && source != nullptr) note(*source);
  }
  if (next != nullptr) next(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, data);
}

}  // namespace

// For all events: which of them a launcher uses for a death differs.
void listen_for_deaths(const PmixLibrary& library, const std::string& name_space) {
  {
    const std::lock_guard lock(deaths().mutex);
    deaths().name_space = name_space;
  }
  static_cast<void>(
      library.PMIx_Register_event_handler(nullptr, 0, nullptr, 0, told, nullptr, nullptr));
}

bool is_told_dead(int rank) {
  Deaths& all = deaths();
  if (all.count.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(all.mutex);
  return std::ranges::find(all.ranks, static_cast<pmix_rank_t>(rank)) != all.ranks.end();
}

}  // namespace scela::channel
