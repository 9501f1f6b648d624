// Collective operations of libscela over the messages of an MPI (scela/point_to_point.h).
//
// The class below is all that another library has to give: messages that are begun, tested, waited
// for and cancelled. The program sums, gathers and splits by ScELA's collective operations, and
// compares with what it expects.
//
//   mpicxx -std=c++20 -c $(pkg-config --cflags libscela) collectives_over_mpi.cpp
//   mpicxx -o collectives_over_mpi collectives_over_mpi.o $(pkg-config --libs libscela)
//   mpiexec -n 4 ./collectives_over_mpi [polled|at_once|thread]
#include <mpi.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <scela/communicator.h>
#include <scela/point_to_point.h>

namespace {

// An MPI matches messages by communicator and tag. All routes share one communicator; a tag is made
// of the route's context and tag. With ProgressMode::thread two threads call, so the MPI must have
// MPI_THREAD_MULTIPLE.
class MpiMessages final : public scela::PointToPoint {
 public:
  explicit MpiMessages(MPI_Comm whose) {
    MPI_Comm_dup(whose, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    void* value = nullptr;
    int is_set = 0;
    MPI_Comm_get_attr(comm_, MPI_TAG_UB, &value, &is_set);
    const int max_tag = is_set != 0 ? *static_cast<int*>(value) : 32767;
    contexts_ = static_cast<std::uint32_t>(max_tag) / kTags - 1;  // one more is for agreements
    MPI_Comm_rank(comm_, &rank_);
    find_nodes();
  }
  ~MpiMessages() override { MPI_Comm_free(&comm_); }

  int rank() const override { return rank_; }
  std::span<const int> nodes() const override { return nodes_; }
  std::uint32_t contexts() const override { return contexts_; }
  std::uint32_t tags() const override { return kTags; }

  // An MPI takes at most 2 GiB here; a longer message is refused.
  Ticket send(int peer, Route route, std::span<const std::byte> bytes) override {
    if (bytes.size() > INT_MAX) return keep({MPI_REQUEST_NULL, MPI_ERR_COUNT, false, 0});
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer,
                                tag_of(route), comm_, &request);
    return keep({request, error, false, 0});
  }
  Ticket receive(int peer, Route route, std::span<std::byte> bytes) override {
    if (bytes.size() > INT_MAX) return keep({MPI_REQUEST_NULL, MPI_ERR_COUNT, true, 0});
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer,
                                tag_of(route), comm_, &request);
    return keep({request, error, true, bytes.size()});
  }
  Outcome test(Ticket ticket) override {
    const Lock lock(busy_);
    Message& message = messages_[ticket];
    int over = 1;
    MPI_Status status;
    if (message.error == MPI_SUCCESS) message.error = MPI_Test(&message.request, &over, &status);
    if (over == 0) return {};
    Outcome outcome;
    outcome.over = true;
    int kind = MPI_SUCCESS;
    MPI_Error_class(message.error, &kind);
    if (kind == MPI_ERR_TRUNCATE) {
      outcome.bytes = message.room + 1;  // an MPI does not say how long the message was
      outcome.status = {scela::Code::truncated, -1};
    } else if (kind != MPI_SUCCESS) {
      char text[MPI_MAX_ERROR_STRING];
      int length = 0;
      MPI_Error_string(message.error, text, &length);
      outcome.status = {scela::Code::other, -1, text};
    } else if (message.is_receive) {
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      outcome.bytes = static_cast<std::size_t>(count);
    }
    free_.push_back(ticket);
    return outcome;
  }
  // An MPI has no wait that another thread can end, so this looks and yields.
  bool wait_any(std::span<const Ticket> tickets, scela::Timeout timeout) override {
    const auto begun = std::chrono::steady_clock::now();
    while (!woken_.exchange(false)) {
      for (const Ticket ticket : tickets)
        if (may_be_over(ticket)) return true;
      if (timeout && std::chrono::steady_clock::now() - begun >= *timeout) return false;
      ::sched_yield();
    }
    return true;
  }
  void wake() override { woken_ = true; }
  void cancel(Ticket ticket) override {
    Message message;
    {
      const Lock lock(busy_);
      message = messages_[ticket];
    }
    if (message.is_receive && message.error == MPI_SUCCESS) MPI_Cancel(&message.request);
    MPI_Wait(&message.request, MPI_STATUS_IGNORE);
    const Lock lock(busy_);
    free_.push_back(ticket);
  }

 private:
  static constexpr std::uint32_t kTags = 4096;

  struct Message {
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_SUCCESS;
    bool is_receive = false;
    std::size_t room = 0;
  };

  // Guards the list of messages, which two threads may use. It is never held for long.
  class Lock {
   public:
    explicit Lock(std::atomic_flag& flag) : flag_(flag) {
      while (flag_.test_and_set(std::memory_order_acquire))
        ::sched_yield();
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() { flag_.clear(std::memory_order_release); }

   private:
    std::atomic_flag& flag_;
  };

  static int tag_of(Route route) { return static_cast<int>(route.context * kTags + route.tag); }

  Ticket keep(Message message) {
    const Lock lock(busy_);
    if (free_.empty()) {
      free_.push_back(static_cast<Ticket>(messages_.size()));
      messages_.emplace_back();
    }
    const Ticket ticket = free_.back();
    free_.pop_back();
    messages_[ticket] = message;
    return ticket;
  }

  bool may_be_over(Ticket ticket) {
    const Lock lock(busy_);
    const Message& message = messages_[ticket];
    int over = 0;
    if (message.error != MPI_SUCCESS) return true;
    MPI_Request_get_status(message.request, &over, MPI_STATUS_IGNORE);
    return over != 0;
  }

  // The number of a node is its lowest rank.
  void find_nodes() {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
    int lowest = rank_;
    MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    int size = 0;
    MPI_Comm_size(comm_, &size);
    nodes_.resize(static_cast<std::size_t>(size));
    MPI_Allgather(&lowest, 1, MPI_INT, nodes_.data(), 1, MPI_INT, comm_);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::uint32_t contexts_ = 1;
  std::vector<int> nodes_;
  std::vector<Message> messages_;
  std::vector<Ticket> free_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::atomic<bool> woken_{false};
};

void require(const scela::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "collectives_over_mpi: %s\n", status.message().c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void require(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "collectives_over_mpi: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

scela::ProgressMode mode_of(std::string_view name) {
  if (name == "at_once") return scela::ProgressMode::at_once;
  if (name == "thread") return scela::ProgressMode::thread;
  return scela::ProgressMode::polled;
}

// Sums and gathers, blocking and not, and compares with the definition.
void compute(scela::Communicator& ranks) {
  const int size = ranks.size();
  const std::vector<long> mine(5000, ranks.rank() + 1);
  std::vector<long> sum(mine.size()), all(static_cast<std::size_t>(size));
  const long expected = static_cast<long>(size) * (size + 1) / 2;
  require(ranks.run(scela::Collective::allreduce(mine, sum, scela::ReduceOp::sum)));
  require(sum.front() == expected && sum.back() == expected, "a wrong sum");

  const std::vector<long> own{100L + ranks.rank()};
  scela::Request gathered = ranks.start(scela::Collective::allgather(own, all));
  require(ranks.barrier());
  require(gathered.wait());
  for (int rank = 0; rank < size; ++rank)
    require(all[static_cast<std::size_t>(rank)] == 100 + rank, "a wrong block");

  scela::Request prepared = ranks.prepare(scela::Collective::bcast(sum, size - 1));
  for (long round = 0; round < 3; ++round) {
    if (ranks.rank() == size - 1) sum.assign(sum.size(), round);
    require(prepared.start());
    require(prepared.wait());
    require(sum.front() == round && sum.back() == round, "a wrong message");
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const std::string_view mode = argc > 1 ? argv[1] : "polled";
  require(mode != "thread" || provided == MPI_THREAD_MULTIPLE,
          "this MPI lets one thread call only");
  {
    MpiMessages messages(MPI_COMM_WORLD);
    scela::CommunicatorOptions options;
    options.progress = mode_of(mode);
    scela::Communicator world = scela::Communicator::over(messages, options);
    require(world.status());
    compute(world);
    scela::Communicator half = world.split(world.rank() % 2, world.rank());
    require(half.status());
    compute(half);
    const scela::AgreeResult agreed = world.agree(world.rank() != 0);
    require(agreed.status);
    require(!agreed.flag && agreed.exited.empty(), "a wrong agreement");
    if (world.rank() == 0)
      std::printf("collective operations over MPI: %d ranks, %s\n", world.size(),
                  world.describe().c_str());
  }
  MPI_Finalize();
  return 0;
}
