// The main thread keeps which ranks have stopped and which were let go, in HeldRanks. libpmix's
// threads only queue news for it.
#include "pmix/server/held_ranks.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pmix/server/infos.h"
#include "pmix/server/pmix_server.h"
#include "pmix/server/upcalls.h"

namespace scela::pmix {

namespace {

// The places at which ranks are stopped.
enum class Stop : std::uint8_t {
  on_exec,  // before the first instruction of the program
  in_init,  // in PMIx_Init
};

// Returns the ranks of a namespace that are to stop there, by the job's numbers.
RankSet stopping(const Space& space, Stop stop) {
  const RankSet& chosen = stop == Stop::on_exec ? space.stops.on_exec : space.stops.in_init;
  RankSet ranks;
  for (const RankSet::Range& range : chosen.ranges())
    ranks.add(RankSet::run(space.first + range.first, range.last - range.first + 1));
  return ranks;
}

// Causes an event of this server. libpmix also has its host pass it to other nodes.
void cause(pmix_status_t code, pmix_data_range_t range, Infos& infos) {
  pmix_proc_t self{};
  server_namespace(served()->setup()).copy(self.nspace, PMIX_MAX_NSLEN);
  self.rank = served()->setup().node;
  infos.add(PMIX_EVENT_NON_DEFAULT, true);
  tell_event(code, self, range, infos.data(), infos.size());
}

// Tells debuggers on all nodes that the ranks of a namespace have stopped there.
void announce(const Space& space, Stop stop) {
  Infos infos;
  infos.add(PMIX_BREAKPOINT, std::string(stop == Stop::on_exec ? "exec" : "pmix-init"));
  infos.add(PMIX_NSPACE, space.name);
  cause(PMIX_READY_FOR_DEBUG, PMIX_RANGE_GLOBAL, infos);
}

// Lets a rank of this node go that waits in PMIx_Init.
void continue_in_init(const pmix_proc_t& proc) {
  Infos infos;
  infos.add(PMIX_EVENT_CUSTOM_RANGE, proc);
  infos.add(PMIX_EVENT_DO_NOT_CACHE, true);
  cause(PMIX_DEBUGGER_RELEASE, PMIX_RANGE_CUSTOM, infos);
}

// The ranks of this node that are stopped, or were let go before they stopped.
class HeldRanks {
 public:
  void stopped_on_exec(Rank rank);
  void waits_in_init(Rank rank);
  // Lets those of `targets` go that are stopped on this node, or will be, or all if there are no
  // `targets`.
  void release(const std::optional<RankSet>& targets);

 private:
  // Notes that a rank has stopped. The node of the lowest rank of all nodes that are to stop there
  // tells debuggers of it once all have.
  void note(const Server::SpacePtr& space, Rank rank, Stop stop);

  std::map<std::pair<Rank, Stop>, RankSet> stopped_;  // by the first rank of the namespace
  RankSet left_exec_;                                 // let go at their start, or past it
  RankSet may_pass_init_;                             // let go before they waited there
};

void HeldRanks::note(const Server::SpacePtr& space, Rank rank, Stop stop) {
  const RankSet ranks = stopping(*space, stop);
  RankSet& here = stopped_[{space->first, stop}];
  if (!ranks.contains(rank) || here.contains(rank)) return;
  here.add(rank);
  if (!here.contains_all(ranks.intersection(space->ranks_of(served()->setup().node)))) return;
  const bool announces = here.contains(ranks.front());
  // The name begins with a byte that names of groups do not have.
  using namespace std::string_view_literals;
  const std::string name(stop == Stop::on_exec ? "\0exec"sv : "\0init"sv);
  served()->link().ask(msg::Fence{0, ranks, {}, name},
                       [=](Status status, const std::string& /*numbers*/) {
                         if (status == Status::ok && announces) announce(*space, stop);
                       });
}

void HeldRanks::stopped_on_exec(Rank rank) {
  const Server::SpacePtr space = served()->space(served()->process(rank).nspace);
  if (space != nullptr) note(space, rank, Stop::on_exec);
}

// A client of libpmix 4.2 waits in PMIx_Init if any rank of its namespace is to wait.
void HeldRanks::waits_in_init(Rank rank) {
  const pmix_proc_t proc = served()->process(rank);
  const Server::SpacePtr space = served()->space(proc.nspace);
  if (space == nullptr) return;
  left_exec_.add(rank);
  note(space, rank, Stop::in_init);
  if (!stopping(*space, Stop::in_init).contains(rank) || may_pass_init_.contains(rank))
    continue_in_init(proc);
}

void HeldRanks::release(const std::optional<RankSet>& targets) {
  RankSet at_start;
  RankSet later;
  for (const Server::SpacePtr& space : served()->spaces()) {
    RankSet here = space->ranks_of(served()->setup().node);
    if (targets) here = here.intersection(*targets);
    const RankSet starting = here.intersection(stopping(*space, Stop::on_exec)).minus(left_exec_);
    at_start.add(starting);
    later.add(here.intersection(stopping(*space, Stop::in_init)).minus(starting));
  }
  left_exec_.add(at_start);
  may_pass_init_.add(later);
  if (!at_start.empty()) served()->link().post(msg::Release{std::move(at_start)});
}

HeldRanks& held_ranks() {
  static HeldRanks one;
  return one;
}

// libpmix calls this for releases that name no targets, of this node and of others.
void on_release(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, std::size_t,
                pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done, void* data) {
  served()->link().later([] { held_ranks().release(std::nullopt); });
  if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, data);
}

// libpmix calls this when a process of this node waits in PMIx_Init, and for announce(). A handler
// of libpmix itself would come next, and count both.
void on_ready(std::size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t*, std::size_t,
              pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done, void* data) {
  if (const auto rank = served()->rank_of(*source))
    served()->link().later([rank = *rank] { held_ranks().waits_in_init(rank); });
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

}  // namespace

void add_stop_in_init(const msg::World& world, const RankSet& here, Infos& infos) {
  const RankSet& ranks = world.stops.in_init;
  if (!ranks.intersects(here)) return;
  // Later versions of libpmix take one rank or all of them.
  infos.add_rank(PMIX_DEBUG_STOP_IN_INIT, ranks.size() == 1 ? ranks.front() : PMIX_RANK_WILDCARD);
}

void rank_stopped(Rank rank) {
  held_ranks().stopped_on_exec(rank);
}

void hear_release(const RankSet& targets) {
  served()->link().later([targets] { held_ranks().release(targets); });
}

void watch_stopped_ranks() {
  pmix_status_t code = PMIX_DEBUGGER_RELEASE;
  static_cast<void>(
      PMIx_Register_event_handler(&code, 1, nullptr, 0, on_release, nullptr, nullptr));
  code = PMIX_READY_FOR_DEBUG;
  Infos infos;
  infos.add(PMIX_EVENT_HDLR_FIRST, true);
  static_cast<void>(PMIx_Register_event_handler(&code, 1, infos.data(), infos.size(), on_ready,
                                                nullptr, nullptr));
}

}  // namespace scela::pmix
