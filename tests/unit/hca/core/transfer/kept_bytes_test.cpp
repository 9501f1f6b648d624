#include "hca/core/transfer/kept_bytes.h"

#include <catch2/catch.hpp>

namespace kept_bytes_test {

using namespace scela;
using namespace scela::hca;

namespace {

constexpr ProcessId kProcess = 1;
constexpr std::size_t kMiB = 1024 * 1024;

struct Kept {
  Kept() {
    objects.attach(kProcess, page);
    qpn = objects.add(Qp());
    objects.find<Qp>(qpn)->handle = qpn;
  }
  CountedBytes keep(ProcessId process, RoomFor what, std::size_t bytes) {
    return {kept.counter(process, what), bytes};
  }
  Random random{1};
  ProcessPage page;
  ObjectTables objects;
  Scheduler scheduler{objects, random, false};
  KeptBytes kept{objects, scheduler};
  std::uint32_t qpn = 0;
};

}  // namespace

TEST_CASE("hca kept bytes: each reason of a process has its own limit") {
  Kept all;
  const CountedBytes answers = all.keep(kProcess, RoomFor::answers, 64 * kMiB);
  CHECK(all.kept.would_exceed(kProcess, RoomFor::answers, 1));
  CHECK_FALSE(all.kept.would_exceed(kProcess, RoomFor::requests, 1));
  CHECK_FALSE(all.kept.would_exceed(kProcess, RoomFor::moves, 1));
  CHECK_FALSE(all.kept.would_exceed(kProcess + 1, RoomFor::answers, 1));
}

TEST_CASE("hca kept bytes: a queue pair that waits runs again once half of the limit is free") {
  Kept all;
  CountedBytes first = all.keep(kProcess, RoomFor::moves, 40 * kMiB);
  CountedBytes second = all.keep(kProcess, RoomFor::moves, 30 * kMiB);
  all.kept.wait_for_room(kProcess, RoomFor::moves, all.qpn);
  all.kept.schedule_waiting();
  CHECK_FALSE(all.scheduler.has_next());
  second = {};
  CHECK_FALSE(all.kept.would_exceed(kProcess, RoomFor::moves, 1));
  all.kept.schedule_waiting();
  CHECK_FALSE(all.scheduler.has_next());
  first = {};
  all.kept.schedule_waiting();
  CHECK(all.scheduler.next() == all.objects.find<Qp>(all.qpn));
  all.kept.schedule_waiting();
  CHECK_FALSE(all.scheduler.has_next());
}

TEST_CASE("hca kept bytes: bytes outlive their process, and are counted with those of others") {
  Kept all;
  const CountedBytes bytes = all.keep(kProcess, RoomFor::answers, 64 * kMiB);
  all.objects.detach(kProcess);
  CHECK_FALSE(all.kept.would_exceed(kProcess, RoomFor::answers, 1));
  const CountedBytes departed = all.keep(kProcess, RoomFor::answers, 64 * kMiB);
  CHECK(all.kept.would_exceed(kProcess, RoomFor::answers, 1));
  CHECK(all.kept.would_exceed(kProcess + 1, RoomFor::answers, 1));
}

}  // namespace kept_bytes_test
