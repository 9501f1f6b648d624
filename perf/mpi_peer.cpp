// The contestant of an MPI library. scela-perf compiles it with that MPI's own mpicxx and starts it
// with its own mpiexec.
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "perf/rank_words.h"
#include "perf/timed_loops.h"

namespace {

class Mpi {
 public:
  Mpi() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local_rank_);
    const int leads = local_rank_ == 0 ? 1 : 0;
    MPI_Allreduce(&leads, &nodes_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_free(&node);
  }
  int rank() const { return rank_; }
  int size() const { return size_; }
  int nodes() const { return nodes_; }
  int local_rank() const { return local_rank_; }

  void send(int peer, const void* bytes, std::size_t n) {
    MPI_Send(bytes, static_cast<int>(n), MPI_BYTE, peer, 1, MPI_COMM_WORLD);
  }
  void recv(int peer, void* bytes, std::size_t n) {
    MPI_Recv(bytes, static_cast<int>(n), MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void send_aside(int peer, const void* bytes, std::size_t n) {
    MPI_Send(bytes, static_cast<int>(n), MPI_BYTE, peer, 2, MPI_COMM_WORLD);
  }
  void recv_aside(int peer, void* bytes, std::size_t n) {
    MPI_Recv(bytes, static_cast<int>(n), MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void begin_send(int peer, const void* bytes, std::size_t n) {
    requests_.emplace_back();
    MPI_Isend(bytes, static_cast<int>(n), MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests_.back());
  }
  void begin_recv(int peer, void* bytes, std::size_t n) {
    requests_.emplace_back();
    MPI_Irecv(bytes, static_cast<int>(n), MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests_.back());
  }
  void finish() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }
  void collective(const scela::perf::CollectiveCall& asked) {
    using Op = scela::perf::CollectiveOp;
    const Elements e = elements(asked);
    const MPI_Comm all = MPI_COMM_WORLD;
    switch (asked.op) {
      case Op::barrier:
        MPI_Barrier(all);
        break;
      case Op::bcast:
        MPI_Bcast(asked.out, e.count, e.type, asked.root, all);
        break;
      case Op::reduce:
        MPI_Reduce(asked.in, asked.out, e.count, e.type, MPI_SUM, asked.root, all);
        break;
      case Op::allreduce:
        MPI_Allreduce(asked.in, asked.out, e.count, e.type, MPI_SUM, all);
        break;
      case Op::gather:
        MPI_Gather(asked.in, e.count, e.type, asked.out, e.count, e.type, asked.root, all);
        break;
      case Op::scatter:
        MPI_Scatter(asked.in, e.count, e.type, asked.out, e.count, e.type, asked.root, all);
        break;
      case Op::allgather:
        MPI_Allgather(asked.in, e.count, e.type, asked.out, e.count, e.type, all);
        break;
      case Op::alltoall:
        MPI_Alltoall(asked.in, e.count, e.type, asked.out, e.count, e.type, all);
        break;
      case Op::reduce_scatter:
        MPI_Reduce_scatter_block(asked.in, asked.out, e.count, e.type, MPI_SUM, all);
        break;
      case Op::scan:
        MPI_Scan(asked.in, asked.out, e.count, e.type, MPI_SUM, all);
        break;
      case Op::exscan:
        MPI_Exscan(asked.in, asked.out, e.count, e.type, MPI_SUM, all);
        break;
    }
  }
  void begin_collective(const scela::perf::CollectiveCall& asked) {
    using Op = scela::perf::CollectiveOp;
    const Elements e = elements(asked);
    const MPI_Comm all = MPI_COMM_WORLD;
    requests_.emplace_back();
    MPI_Request* const request = &requests_.back();
    switch (asked.op) {
      case Op::barrier:
        MPI_Ibarrier(all, request);
        break;
      case Op::bcast:
        MPI_Ibcast(asked.out, e.count, e.type, asked.root, all, request);
        break;
      case Op::reduce:
        MPI_Ireduce(asked.in, asked.out, e.count, e.type, MPI_SUM, asked.root, all, request);
        break;
      case Op::allreduce:
        MPI_Iallreduce(asked.in, asked.out, e.count, e.type, MPI_SUM, all, request);
        break;
      case Op::gather:
        MPI_Igather(asked.in, e.count, e.type, asked.out, e.count, e.type, asked.root, all,
                    request);
        break;
      case Op::scatter:
        MPI_Iscatter(asked.in, e.count, e.type, asked.out, e.count, e.type, asked.root, all,
                     request);
        break;
      case Op::allgather:
        MPI_Iallgather(asked.in, e.count, e.type, asked.out, e.count, e.type, all, request);
        break;
      case Op::alltoall:
        MPI_Ialltoall(asked.in, e.count, e.type, asked.out, e.count, e.type, all, request);
        break;
      case Op::reduce_scatter:
        MPI_Ireduce_scatter_block(asked.in, asked.out, e.count, e.type, MPI_SUM, all, request);
        break;
      case Op::scan:
        MPI_Iscan(asked.in, asked.out, e.count, e.type, MPI_SUM, all, request);
        break;
      case Op::exscan:
        MPI_Iexscan(asked.in, asked.out, e.count, e.type, MPI_SUM, all, request);
        break;
    }
  }
  void progress_collectives() {
    int over = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &over, MPI_STATUSES_IGNORE);
  }
  void finish_collectives() { finish(); }
  static scela::perf::ExecutorAndAlgorithm means(const scela::perf::CollectiveCall&) {
    return {};
  }                                       // MPI does not report it
  void tell(scela::perf::Cost&) const {}  // MPI does not report it

 private:
  struct Elements {
    int count;
    MPI_Datatype type;
  };
  static Elements elements(const scela::perf::CollectiveCall& asked) {
    if (asked.bytes % sizeof(double) == 0)
      return {static_cast<int>(asked.bytes / sizeof(double)), MPI_DOUBLE};
    return {static_cast<int>(asked.bytes), MPI_UNSIGNED_CHAR};
  }

  int rank_ = 0, size_ = 1, nodes_ = 0, local_rank_ = 0;
  std::vector<MPI_Request> requests_;
};

}  // namespace

int main(int argc, char** argv) {
  scela::perf::Plan plan;
  scela::perf::RankBinding where = scela::perf::RankBinding::free;
  if (!scela::perf::read_words(argc, argv, plan, where)) return 2;
  MPI_Init(&argc, &argv);
  int status = 3;
  {
    Mpi mpi;
    if (scela::perf::bind_threads(mpi, plan, where))
      status = scela::perf::Loops<Mpi>(mpi, plan).run(SCELA_PERF_PROVIDER) ? 0 : 2;
  }
  MPI_Finalize();
  return status;
}
