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
    if (const auto status = group.run(Collective::allreduce(own, all, ReduceOp::sum)); !status.ok())
      return status.message();
    if (all.front() != expected_ranks || all.back() != expected_ranks)
      return cat("a sum of ", all.back(), " with ", expected_ranks, " ranks");
  }
  return {};
}

// Runs the operations in `group` until one fails, and returns its error.
Status first_error(Communicator& group, const std::vector<Collective>& every) {
  for (;;)
    for (const Collective& one : every)
      if (Status status = group.run(one); !status.ok()) return status;
}

std::string named(const Status& status, int rank, int of_job) {
  if (status.code() != Code::peer_ended || status.rank() != rank)
    return cat("not the dead rank's fault: ", status.message());
  if (status.message().find(cat("rank ", rank, " is rank ", of_job, " of the job")) ==
      std::string::npos)
    return cat("it does not name the rank: ", status.message());
  return {};
}

TEST_CASE("ends: whichever operations are called, all others fail with the name of the dead") {
  for (const ProgressMode progress : kAllProgressModes) {
    // In these, a rank that only sends gets no message that would tell it of the dead.
    for (const int kind : {0, 1, 2, 3, 4}) {
      INFO("executor " << static_cast<int>(progress) << ", kind " << kind);
      Deaths deaths(5);
      CHECK(everyone(deaths.network(), {.ranks = 5, .progress = progress},
                     [&](Communicator& world) -> std::string {
                       Communicator turned = world.split(0, -world.rank());
                       if (!turned) return turned.status().message();
                       if (const auto status = world.barrier(); !status.ok())
                         return status.message();
                       if (world.rank() == 4) {
                         deaths.die(4);
                         return {};
                       }
                       std::vector<int> one(3000, 1);
                       std::vector<int> all(15000);
                       std::vector<int> to(15000);
                       const std::vector<Collective> every{
                           Collective::barrier(),
                           Collective::bcast(one, 4).algorithm("chain"),
                           Collective::bcast(one, 1).algorithm("chain"),
                           Collective::gather(one, world.rank() == 0 ? Buffer(all) : Buffer(), 4),
                           Collective::alltoall(all, to).algorithm("flat"),
                       };
                       // The dead rank is rank 0 in `turned`.
                       std::string wrong = named(
                           first_error(turned, {every[static_cast<std::size_t>(kind)]}), 0, 4);
                       // Later operations fail at once, whichever they are.
                       for (const Collective& later :
                            {Collective::barrier(), Collective::bcast(one, 1).algorithm("chain")})
                         if (wrong.empty()) wrong = named(turned.run(later), 0, 4);
                       return wrong;
                     }) == "");
      CHECK(deaths.network().under_way() == 0);
    }
  }
}

TEST_CASE("ends: a rank that waits for a rank that has given up hears of the dead rank from it") {
  for (const ProgressMode progress : kAllProgressModes) {
    Deaths deaths(3);
    std::atomic<bool> over{false};
    CHECK(everyone(deaths.network(), {.ranks = 3, .progress = progress},
                   [&](Communicator& world) -> std::string {
                     // The barrier is not one of `world`: a rank that has completed it may give up
                     // `world`.
                     if (const auto status = world.dup().barrier(); !status.ok())
                       return status.message();
                     if (world.rank() == 2) {
                       deaths.die(2);
                       return {};
                     }
                     // Rank 0 only sends to rank 1, which makes no more calls after one has failed.
                     std::vector<int> much(50'000, 1);
                     const std::vector<Collective> chain{
                         Collective::bcast(much, 0).algorithm("chain")};
                     const Status status = first_error(world, chain);
                     if (world.rank() == 1) {
                       over.wait(false);
                     } else {
                       over = true;
                       over.notify_all();
                     }
                     return named(status, 2, 2);
                   }) == "");
    CHECK(deaths.network().under_way() == 0);
  }
}

TEST_CASE("ends: a rank that ends after its part of the last operation fails no other") {
  for (const ProgressMode progress : kAllProgressModes) {
    MemoryNetwork network(5, 3);
    network.deliver_in_waits();
    CHECK(everyone(
              network, {.ranks = 5, .progress = progress}, [&](Communicator& world) -> std::string {
                std::vector<int> all(5);
                const std::vector<int> own{world.rank()};
                for (const char* const by : {"ring", "direct", "bruck"})
                  if (const auto status = world.run(Collective::allgather(own, all).algorithm(by));
                      !status.ok())
                    return status.message();
                if (all != std::vector<int>{0, 1, 2, 3, 4}) return "wrong blocks";
                // The messages that the rank has sent still arrive, and it waits for
                // nothing any more.
                network.leave(world.rank());
                return {};
              }) == "");
  }
}

TEST_CASE("ends: communicators without the dead go on, with operations under way") {
  for (const ProgressMode progress : {ProgressMode::polled, ProgressMode::thread}) {
    Deaths deaths(4);
    CHECK(everyone(deaths.network(), {.ranks = 4, .progress = progress},
                   [&](Communicator& world) -> std::string {
                     const std::vector<int> most{0, 1, 2};
                     Communicator without = world.subgroup(most);
                     // The barrier is not one of `world`: a rank that has completed it may give up
                     // `world`.
                     if (const auto status = world.dup().barrier(); !status.ok())
                       return status.message();
                     if (world.rank() == 3) {
                       deaths.die(3);
                       return {};
                     }
                     std::vector<int> own(4000, world.rank());
                     std::vector<int> all(12'000);
                     Request goes_on = without.start(Collective::allgather(own, all));
                     std::string wrong = named(first_error(world, {Collective::barrier()}), 3, 3);
                     if (!wrong.empty()) return wrong;
                     if (const auto status = goes_on.wait(); !status.ok()) return status.message();
                     if (all[0] != 0 || all[11'999] != 2) return "wrong blocks";
                     return sum_of(without, 3);
                   }) == "");
    CHECK(deaths.network().under_way() == 0);
  }
}

TEST_CASE("ends: those that live shrink, in their order, and go on, though some die meanwhile") {
  for (const ProgressMode progress : kAllProgressModes) {
    for (const int after : {0, 1, 6, 8, 11, 14, 17}) {
      INFO("executor " << static_cast<int>(progress) << ", death after " << after << " messages");
      Deaths deaths(6);
      CHECK(everyone(deaths.network(), {.ranks = 6, .progress = progress},
                     [&](Communicator& world) -> std::string {
                       const int rank = world.rank();
                       Communicator turned = world.split(0, -rank);
                       if (const auto status = world.barrier(); !status.ok())
                         return status.message();
                       if (rank == 5 || rank == 2) {
                         // Rank 5 is rank 0 of `turned`, which leads the agreement.
                         if (after != 0 && rank == 5) {
                           deaths.die_after(5, after);
                           static_cast<void>(turned.shrink());
                         }
                         deaths.die(rank);
                         return {};
                       }
                       Status status = first_error(turned, {Collective::barrier()});
                       if (status.code() != Code::peer_ended) return status.message();
                       Communicator now = std::move(turned);
                       // The rank that dies last may still be a member.
                       for (int tries = 0; tries < 4; ++tries) {
                         now = now.shrink();
                         if (!now) return now.status().message();
                         if (now.size() == 4) break;
                         status = first_error(now, {Collective::barrier()});
                         if (status.code() != Code::peer_ended) return status.message();
                       }
                       const std::vector<int> expected{4, 3, 1, 0};
                       std::vector<int> all(4);
                       const std::vector<int> own{rank};
                       if (const auto failed = now.run(Collective::allgather(own, all));
                           !failed.ok())
                         return failed.message();
                       if (all != expected) return "not in their order";
                       std::string wrong = sum_of(now, 4);
                       if (!wrong.empty()) return wrong;
                       // A communicator made from the shrunken one works like any other.
                       Communicator again = now.dup();
                       return again ? sum_of(again, 4) : again.status().message();
                     }) == "");
      CHECK(deaths.network().under_way() == 0);
    }
  }
}

TEST_CASE("ends: agree gives all ranks the same result and the same ranks that have ended") {
  Deaths deaths(5);
  CHECK(everyone(deaths.network(), {.ranks = 5}, [&](Communicator& world) -> std::string {
          const AgreeResult all = world.agree(true);
          if (!all.status.ok() || !all.flag || !all.exited.empty()) return "all said yes, and live";
          const AgreeResult but_one = world.agree(world.rank() != 3);
          if (!but_one.status.ok() || but_one.flag || !but_one.exited.empty())
            return "one said no, and lives";
          if (world.rank() == 0) {
            deaths.die(0);
            return {};
          }
          const AgreeResult four = world.agree(true);
          if (!four.status.ok() || !four.flag) return four.status.message();
          if (four.exited != std::vector<int>{0}) return "it does not know the dead";
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
            if (const auto status = world.dup().barrier(); !status.ok()) return status.message();
            if (rank >= 4) {
              deaths.network().leave_unheard(rank, std::array{1, 2, 3});
              return {};
            }
            if (shrinks) {
              Communicator four = world.shrink();
              return four ? sum_of(four, 4) : four.status().message();
            }
            const AgreeResult agreed = world.agree(true);
            if (agreed.exited != std::vector<int>{4, 5, 6, 7}) return "it does not know the dead";
            // The operation does not wait for any dead rank afterwards.
            const auto later = first_error(world, {Collective::barrier()});
            return later.code() == Code::peer_ended ? "" : later.message();
          }) == "");
    CHECK(watch.in_time());
    CHECK(deaths.network().under_way() == 0);
  }
}

TEST_CASE("ends: ranks that agree on something else than others are told so, all of them") {
  CHECK(everyone({.ranks = 3}, [](Communicator& world) -> std::string {
          const Status status =
              world.rank() == 1 ? world.shrink().status() : world.agree(true).status;
          if (status.code() != Code::mismatch) return cat("no mismatch: ", status.message());
          // The next agreement works again.
          return world.agree(true).status.ok() ? "" : "the next agreement fails";
        }) == "");
}

TEST_CASE("ends: a communicator that was freed cannot be agreed on or shrunk") {
  CHECK(everyone({.ranks = 1}, [](Communicator& world) -> std::string {
          if (!world.agree(true).flag || world.shrink().size() != 1) return "alone";
          world.free();
          if (world.agree(true).status.code() != Code::bad_communicator) return "agreed";
          return world.shrink().status().code() == Code::bad_communicator ? "" : "shrunk";
        }) == "");
}

}  // namespace
}  // namespace scela::collectives::test::ends_test
