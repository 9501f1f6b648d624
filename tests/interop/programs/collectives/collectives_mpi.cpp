// Runs the lists of collectives_probe over the messages of another library, an MPI (N7). Each MPI's
// own compiler compiles it. Rank 0 prints one line if all is well.
//
//   collectives_mpi inline|polled|thread
#include <mpi.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/executors/factory.h"
#include "tests/interop/programs/collectives/collectives_probe.h"

using namespace scela::collectives;
using namespace scela::collectives::test;

namespace {

// Messages over a communicator of the MPI, which is the context.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm whose) {
    MPI_Comm_dup(whose, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~MpiTransport() override { MPI_Comm_free(&comm_); }

  Ticket send(int peer, Route route, std::span<const std::byte> bytes) override {
    const Ticket ticket = take(0);
    Slot& slot = slots_[ticket];
    slot.error = MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer,
                           static_cast<int>(route.tag), comm_, &slot.request);
    return ticket;
  }
  Ticket receive(int peer, Route route, std::span<std::byte> bytes) override {
    const Ticket ticket = take(bytes.size());
    Slot& slot = slots_[ticket];
    slot.error = MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer,
                           static_cast<int>(route.tag), comm_, &slot.request);
    return ticket;
  }
  Outcome test(Ticket ticket) override {
    Slot& slot = slots_[ticket];
    int over = 1;
    MPI_Status status;
    if (slot.error == MPI_SUCCESS) slot.error = MPI_Test(&slot.request, &over, &status);
    if (over == 0) return {};
    Outcome outcome;
    outcome.over = true;
    int kind = MPI_SUCCESS;
    MPI_Error_class(slot.error, &kind);
    if (kind == MPI_ERR_TRUNCATE) {
      outcome.bytes = slot.room + 1;
    } else if (kind != MPI_SUCCESS) {
      char words[MPI_MAX_ERROR_STRING];
      int length = 0;
      MPI_Error_string(slot.error, words, &length);
      outcome.fault = std::make_shared<const Fault>(Fault{FaultCode::other, -1, words});
    } else {
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      outcome.bytes = static_cast<std::uint64_t>(count);
    }
    free_.push_back(ticket);
    return outcome;
  }
  // An MPI has no wait that another thread can end, so this looks and yields.
  bool wait_any(std::span<const Ticket> tickets, Timeout limit) override {
    const auto until = std::chrono::steady_clock::now() + limit.value_or(std::chrono::hours(1));
    while (!woken_.exchange(false)) {
      for (const Ticket ticket : tickets) {
        int over = 0;
        if (slots_[ticket].error != MPI_SUCCESS) return true;
        MPI_Request_get_status(slots_[ticket].request, &over, MPI_STATUS_IGNORE);
        if (over != 0) return true;
      }
      if (std::chrono::steady_clock::now() >= until) return false;
      ::sched_yield();
    }
    return true;
  }
  void wake() override { woken_ = true; }
  void cancel(Ticket ticket) override {
    Slot& slot = slots_[ticket];
    if (slot.room != 0) MPI_Cancel(&slot.request);
    MPI_Wait(&slot.request, MPI_STATUS_IGNORE);
    free_.push_back(ticket);
  }
  std::uint32_t tags() const override { return 32768; }  // what every MPI has

 private:
  struct Slot {
    MPI_Request request = MPI_REQUEST_NULL;
    std::size_t room = 0;
    int error = MPI_SUCCESS;
  };

  Ticket take(std::size_t room) {
    if (free_.empty()) {
      free_.push_back(static_cast<Ticket>(slots_.size()));
      slots_.emplace_back();
    }
    const Ticket ticket = free_.back();
    free_.pop_back();
    slots_[ticket] = {MPI_REQUEST_NULL, room, MPI_SUCCESS};
    return ticket;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<Slot> slots_;
  std::vector<Ticket> free_;
  std::atomic<bool> woken_{false};
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto kind = argc > 1 ? executor_kind_of(argv[1]) : std::nullopt;
  std::string wrong;
  if (!kind) {
    wrong = "usage: collectives_mpi inline|polled|thread";
  } else if (*kind == ExecutorKind::thread && provided < MPI_THREAD_MULTIPLE) {
    wrong = "this MPI lets one thread call only";
  } else {
    auto transport = std::make_unique<MpiTransport>(MPI_COMM_WORLD);
    if (*kind == ExecutorKind::thread) {
      auto made = make_thread(std::move(transport));
      wrong = made ? probe(rank, size, 0, **made) : made.error().text();
    } else {
      const std::unique_ptr<Executor> polled = make_polled(std::move(transport));
      const std::unique_ptr<Executor> at_once = make_inline(*polled);
      wrong = probe(rank, size, 0, *kind == ExecutorKind::polled ? *polled : *at_once);
    }
  }
  if (!wrong.empty()) {
    std::fprintf(stderr, "collectives_mpi: %s\n", wrong.c_str());
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (rank == 0) std::printf("collectives over MPI: %s, %d ranks\n", argv[1], size);
  MPI_Finalize();
  return 0;
}
