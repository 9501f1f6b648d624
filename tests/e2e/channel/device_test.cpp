// Links to other nodes if the device shows late what has come, or has no more queue pairs.
#include <cerrno>
#include <deque>

#include "tests/e2e/channel/links_job.h"

namespace links_test {

namespace {

// The device of one rank. Its replaced functions find their settings here.
struct Device {
  bool holds = false;  // receives of connections are not shown, and no event is told
  int refuses = 0;     // so many of the next queue pairs for connections cannot be made
  verbs::Symbols symbols;
  std::deque<std::pair<ibv_cq*, ibv_wc>> held;
  decltype(ibv_context_ops::poll_cq) poll = nullptr;  // of the adapter
  decltype(verbs::Symbols::ibv_create_qp) create = nullptr;
  decltype(verbs::Symbols::ibv_get_async_event) hear = nullptr;
};
Device* device = nullptr;

// Datagrams come with a global route header, and messages by connections do not.
bool is_of_connection(const ibv_wc& wc) {
  return wc.status == IBV_WC_SUCCESS && (wc.opcode & IBV_WC_RECV) != 0 &&
         (wc.wc_flags & IBV_WC_GRH) == 0;
}

int poll_late(ibv_cq* queue, int most, ibv_wc* completions) {
  int count = 0;
  while (!device->holds && count < most && !device->held.empty() &&
         device->held.front().first == queue) {
    completions[count++] = device->held.front().second;
    device->held.pop_front();
  }
  const int come = device->poll(queue, most - count, completions + count);
  if (!device->holds || come <= 0) return count + std::max(come, 0);
  for (int i = 0; i < come; ++i) {
    const ibv_wc wc = completions[i];
    if (is_of_connection(wc))
      device->held.emplace_back(queue, wc);
    else
      completions[count++] = wc;
  }
  return count;
}

int hear_late(ibv_context* context, ibv_async_event* event) {
  if (!device->holds) return device->hear(context, event);
  errno = EAGAIN;
  return -1;
}

ibv_qp* create_few(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  if (attributes->qp_type == IBV_QPT_UD || device->refuses == 0)
    return device->create(pd, attributes);
  --device->refuses;
  errno = ENOMEM;
  return nullptr;
}

// Three ranks, of which one has that device.
struct DeviceJob {
  explicit DeviceJob(int rank)
      : job(verbs::Mode::rc, [this, rank](int other, verbs::Device& opened) {
          if (other != rank) return;
          device = &own;
          own.symbols = *opened.symbols;
          own.create = std::exchange(own.symbols.ibv_create_qp, create_few);
          own.hear = std::exchange(own.symbols.ibv_get_async_event, hear_late);
          own.poll = std::exchange(opened.context->ops.poll_cq, poll_late);
          opened.symbols = &own.symbols;
        }) {}
  Device own;  // outlives the job
  Job job;
};

}  // namespace

TEST_CASE("channel links without XRC: a rank is lost only after all that it sent was received") {
  DeviceJob late(0);
  Job& job = late.job;
  job.send(1, 0, 1);
  late.own.holds = true;
  job.poll_until({0, 1}, [&] { return job.give(1, 0, 2); });
  job.poll_until({0, 1}, [&] { return job[1].link->leave(); });
  job.poll_until({0}, [&] { return job[0].link->is_receiving(1); });
  REQUIRE_FALSE(late.own.held.empty());
  static_cast<void>(job.give(0, 1, 3));  // rank 1 answers nothing any more
  for (int times = 0; times < 20; ++times)
    job.poll({0});
  CHECK(job[0].gone.empty());
  CHECK(job[0].came[1] == std::vector{1});
  late.own.holds = false;
  job.poll_until({0}, [&] { return job[0].gone.contains(1); });
  CHECK(job[0].came[1] == std::vector{1, 2});
}

TEST_CASE("channel links without XRC: a queue pair that cannot be made is an error of its peer") {
  // The queue pair fails first on the rank that asks for the link, then on the rank that is asked.
  for (const int rank : {0, 1}) {
    DeviceJob few(rank);
    Job& job = few.job;
    few.own.refuses = 1;
    const auto is_lost = [&] { return job[0].gone.contains(1); };
    job.poll_until({0, 1}, [&] { return is_lost() || job.give(0, 1, 1); });
    job.poll_until({0, 1}, is_lost);
    INFO(job[0].gone.at(1));
    CHECK(few.own.refuses == 0);
    // The other rank waits for a link that never comes. It is told so, with the reason if that is
    // known.
    job.poll_until({0, 1}, [&] { return job[1].gone.contains(0); });
    const std::string& why = rank == 0 ? job[0].gone.at(1) : job[1].gone.at(0);
    CHECK(why.find("create an RC queue pair on scela_hca0: ") != std::string::npos);
    CHECK(job[1].gone.at(0).find("it has given this rank up") == 0);
    // The other ranks are still reached.
    job.send(0, 2, 2);
    job.send(2, 0, 3);
  }
}

}  // namespace links_test
