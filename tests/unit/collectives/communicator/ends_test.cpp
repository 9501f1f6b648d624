// Tests with ranks that die: operations fail with the dead rank's name, and the living ranks agree
// and continue.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "common/core/text.h"
#include "tests/unit/collectives/communicator/everyone.h"

namespace scela::collectives::test::ends_test {
namespace {

// A network in which ranks can die.
class Deaths {
 public:
  explicit Deaths(int ranks) : network_(ranks, 21) { network_.deliver_in_waits(); }
  MemoryNetwork& network() { return network_; }
  // The messages that the rank has sent still arrive. So no other rank is left in an operation that
  // the dead rank had completed.
  void die(int rank) { network_.leave(rank); }
  void die_after(int rank, int messages) { network_.kill_after(rank, messages); }

 private:
  MemoryNetwork network_;
};

// Calls `act` if a test is not over after a time that only a hang takes.
class Watch {
 public:
  explicit Watch(std::function<void()> act)
      : thread_([this, act = std::move(act)] {
          std::unique_lock lock(mutex_);
          late_ = !changed_.wait_for(lock, std::chrono::seconds(20), [this] { return over_; });
          if (late_) act();
        }) {}
  ~Watch() { stop(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  bool in_time() {
    stop();
    return !late_;
  }

 private:
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  bool late_ = false;
  std::thread thread_;
};

std::string sum_of(Communicator& group, int expected_ranks) {
  // The sender does not copy long messages.
  for (const std::size_t count : {std::size_t{1}, std::size_t{5000}}) {
    std::vector<std::int64_t> own(count, 1);
    std::vector<std::int64_t> all(count);
    if (const auto error = group.run(Collective::allreduce(own, all, ReduceOp::sum)))
      return error.text();
    if (all.front() != expected_ranks || all.back() != expected_ranks)
      return cat("a sum of ", all.back(), " with ", expected_ranks, " ranks");
  }
  return {};
}

// Runs the operations in `group` until one fails, and returns its error.
CollectiveError first_error(Communicator& group, const std::vector<Collective>& every) {
  for (;;)
    for (const Collective& one : every)
      if (CollectiveError error = group.run(one)) return error;
}

std::string named(const CollectiveError& error, int rank, int of_job) {
  if (error.code != CollectiveCode::peer_ended || error.rank != rank)
    return cat("not the dead rank's fault: ", error.text());
  if (error.text().find(cat("rank ", rank, " is rank ", of_job, " of the job")) ==
      std::string::npos)
    return cat("it does not name the rank: ", error.text());
  return {};
}

TEST_CASE("ends: whichever operations are called, all others fail with the name of the dead") {
  for (const RunBy run_by : kAllRunBy) {
    // In these, a rank that only sends gets no message that would tell it of the dead.
    for (const int kind : {0, 1, 2, 3, 4}) {
      INFO("executor " << static_cast<int>(run_by) << ", kind " << kind);
      Deaths deaths(5);
      CHECK(everyone(deaths.network(), {.ranks = 5, .run_by = run_by},
                     [&](Communicator& world) -> std::string {
                       Communicator turned = world.split(0, -world.rank());
                       if (!turned) return turned.error().text();
                       if (const auto error = world.barrier()) return error.text();
                       if (world.rank() == 4) {
                         deaths.die(4);
                         return {};
                       }
                       std::vector<int> one(3000, 1);
                       std::vector<int> all(15000);
                       std::vector<int> to(15000);
                       const std::vector<Collective> every{
                           Collective::barrier(),
                           Collective::bcast(one, 4).by("chain"),
                           Collective::bcast(one, 1).by("chain"),
                           Collective::gather(one, world.rank() == 0 ? View(all) : View(), 4),
                           Collective::alltoall(all, to).by("flat"),
                       };
                       // The dead rank is rank 0 in `turned`.
                       std::string wrong = named(
                           first_error(turned, {every[static_cast<std::size_t>(kind)]}), 0, 4);
                       // Later operations fail at once, whichever they are.
                       for (const Collective& later :
                            {Collective::barrier(), Collective::bcast(one, 1).by("chain")})
                         if (wrong.empty()) wrong = named(turned.run(later), 0, 4);
                       return wrong;
                     }) == "");
      CHECK(deaths.network().under_way() == 0);
    }
  }
}

TEST_CASE("ends: one who waits for a rank that has given up hears of the dead from it") {
  for (const RunBy run_by : kAllRunBy) {
    Deaths deaths(3);
    std::atomic<bool> over{false};
    CHECK(everyone(deaths.network(), {.ranks = 3, .run_by = run_by},
                   [&](Communicator& world) -> std::string {
                     // The barrier is not one of `world`: a rank that has completed it may give up
                     // `world`.
                     if (const auto error = world.dup().barrier()) return error.text();
                     if (world.rank() == 2) {
                       deaths.die(2);
                       return {};
                     }
                     // Rank 0 only sends to rank 1, which makes no more calls after one has failed.
                     std::vector<int> much(50'000, 1);
                     const std::vector<Collective> chain{Collective::bcast(much, 0).by("chain")};
                     const CollectiveError error = first_error(world, chain);
                     if (world.rank() == 1) {
                       over.wait(false);
                     } else {
                       over = true;
                       over.notify_all();
                     }
                     return named(error, 2, 2);
                   }) == "");
    CHECK(deaths.network().under_way() == 0);
  }
}

TEST_CASE("ends: who ends when it has done its part of the last operation fails nobody") {
  for (const RunBy run_by : kAllRunBy) {
    MemoryNetwork network(5, 3);
    network.deliver_in_waits();
    CHECK(
        everyone(network, {.ranks = 5, .run_by = run_by}, [&](Communicator& world) -> std::string {
          std::vector<int> all(5);
          const std::vector<int> own{world.rank()};
          for (const char* const by : {"ring", "direct", "bruck"})
            if (const auto error = world.run(Collective::allgather(own, all).by(by)))
              return error.text();
          if (all != std::vector<int>{0, 1, 2, 3, 4}) return "wrong blocks";
          // The messages that the rank has sent still arrive, and it waits for nothing any more.
          network.leave(world.rank());
          return {};
        }) == "");
  }
}

TEST_CASE("ends: communicators without the dead go on, with operations under way") {
  for (const RunBy run_by : {RunBy::polled, RunBy::thread}) {
    Deaths deaths(4);
    CHECK(everyone(deaths.network(), {.ranks = 4, .run_by = run_by},
                   [&](Communicator& world) -> std::string {
                     const std::vector<int> most{0, 1, 2};
                     Communicator without = world.subgroup(most);
                     // The barrier is not one of `world`: a rank that has completed it may give up
                     // `world`.
                     if (const auto error = world.dup().barrier()) return error.text();
                     if (world.rank() == 3) {
                       deaths.die(3);
                       return {};
                     }
                     std::vector<int> own(4000, world.rank());
                     std::vector<int> all(12'000);
                     CollectiveRequest goes_on = without.start(Collective::allgather(own, all));
                     std::string wrong = named(first_error(world, {Collective::barrier()}), 3, 3);
                     if (!wrong.empty()) return wrong;
                     if (const auto error = goes_on.wait()) return error.text();
                     if (all[0] != 0 || all[11'999] != 2) return "wrong blocks";
                     return sum_of(without, 3);
                   }) == "");
    CHECK(deaths.network().under_way() == 0);
  }
}

TEST_CASE("ends: those that live shrink, in their order, and go on, though some die meanwhile") {
  for (const RunBy run_by : kAllRunBy) {
    for (const int after : {0, 1, 6, 8, 11, 14, 17}) {
      INFO("executor " << static_cast<int>(run_by) << ", death after " << after << " messages");
      Deaths deaths(6);
      CHECK(everyone(deaths.network(), {.ranks = 6, .run_by = run_by},
                     [&](Communicator& world) -> std::string {
                       const int rank = world.rank();
                       Communicator turned = world.split(0, -rank);
                       if (const auto error = world.barrier()) return error.text();
                       if (rank == 5 || rank == 2) {
                         // Rank 5 is rank 0 of `turned`, which leads the agreement.
                         if (after != 0 && rank == 5) {
                           deaths.die_after(5, after);
                           turned.shrink();
                         }
                         deaths.die(rank);
                         return {};
                       }
                       CollectiveError error = first_error(turned, {Collective::barrier()});
                       if (error.code != CollectiveCode::peer_ended) return error.text();
                       Communicator now = std::move(turned);
                       // The rank that dies last may still be a member.
                       for (int tries = 0; tries < 4; ++tries) {
                         now = now.shrink();
                         if (!now) return now.error().text();
                         if (now.size() == 4) break;
                         error = first_error(now, {Collective::barrier()});
                         if (error.code != CollectiveCode::peer_ended) return error.text();
                       }
                       const std::vector<int> expected{4, 3, 1, 0};
                       std::vector<int> all(4);
                       const std::vector<int> own{rank};
                       if (const auto failed = now.run(Collective::allgather(own, all)))
                         return failed.text();
                       if (all != expected) return "not in their order";
                       std::string wrong = sum_of(now, 4);
                       if (!wrong.empty()) return wrong;
                       // A communicator made from the shrunken one works like any other.
                       Communicator again = now.dup();
                       return again ? sum_of(again, 4) : again.error().text();
                     }) == "");
      CHECK(deaths.network().under_way() == 0);
    }
  }
}

TEST_CASE("ends: agree says whether all said yes, and who has ended, the same to everybody") {
  Deaths deaths(5);
  CHECK(everyone(deaths.network(), {.ranks = 5}, [&](Communicator& world) -> std::string {
          const Agreed all = world.agree(true);
          if (!all || !all.all || !all.ended.empty()) return "all said yes, and live";
          const Agreed but_one = world.agree(world.rank() != 3);
          if (!but_one || but_one.all || !but_one.ended.empty()) return "one said no, and lives";
          if (world.rank() == 0) {
            deaths.die(0);
            return {};
          }
          const Agreed four = world.agree(true);
          if (!four || !four.all) return four.error.text();
          if (four.ended != std::vector<int>{0}) return "it does not know the dead";
          return {};
        }) == "");
  CHECK(deaths.network().under_way() == 0);
}

// The ranks hear of the dead only from the decision: no launcher tells them, and none of their
// connections breaks.
TEST_CASE("ends: an agreement ends on ranks that hear of the dead from the others alone") {
  constexpr int kRanks = 8;
  for (const bool shrinks : {false, true}) {
    Deaths deaths(kRanks);
    Watch watch([&] {
      for (int dead = 4; dead < kRanks; ++dead)
        for (int rank = 1; rank < 4; ++rank)
          deaths.network().tell(rank, dead);
    });
    CHECK(everyone(deaths.network(), {.ranks = kRanks}, [&](Communicator& world) -> std::string {
            const int rank = world.rank();
            if (const auto error = world.dup().barrier()) return error.text();
            if (rank >= 4) {
              deaths.network().leave_unheard(rank, std::array{1, 2, 3});
              return {};
            }
            if (shrinks) {
              Communicator four = world.shrink();
              return four ? sum_of(four, 4) : four.error().text();
            }
            const Agreed agreed = world.agree(true);
            if (agreed.ended != std::vector<int>{4, 5, 6, 7}) return "it does not know the dead";
            // The operation does not wait for any dead rank afterwards.
            const auto later = first_error(world, {Collective::barrier()});
            return later.code == CollectiveCode::peer_ended ? "" : later.text();
          }) == "");
    CHECK(watch.in_time());
    CHECK(deaths.network().under_way() == 0);
  }
}

TEST_CASE("ends: ranks that agree on something else than others are told so, all of them") {
  CHECK(everyone({.ranks = 3}, [](Communicator& world) -> std::string {
          const CollectiveError error =
              world.rank() == 1 ? world.shrink().error() : world.agree(true).error;
          if (error.code != CollectiveCode::mismatch) return cat("no mismatch: ", error.text());
          // The next agreement works again.
          return world.agree(true) ? "" : "the next agreement fails";
        }) == "");
}

TEST_CASE("ends: a communicator that was freed cannot be agreed on or shrunk") {
  CHECK(everyone({.ranks = 1}, [](Communicator& world) -> std::string {
          if (!world.agree(true).all || world.shrink().size() != 1) return "alone";
          world.free();
          if (world.agree(true).error.code != CollectiveCode::misuse) return "agreed";
          return world.shrink().error().code == CollectiveCode::misuse ? "" : "shrunk";
        }) == "");
}

}  // namespace
}  // namespace scela::collectives::test::ends_test
