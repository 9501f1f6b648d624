// Sends, receives and probes: the functions of scela::Messages, with the memory that a datatype
// names. Their codes say which argument is wrong.
#include <chrono>
#include <cstring>

#include "layer.h"

namespace layer {
namespace {

using Bytes = Place<std::byte>;
using ConstBytes = Place<const std::byte>;
enum class Mode : unsigned char { standard, synchronous };

scela::Request begin_send(MPI_ABI_Comm& comm, const ConstBytes& place, int peer, int tag,
                          Mode mode) {
  if (mode == Mode::synchronous)
    return place.is_dense() ? comm.ranks.issend(peer, tag, place.bytes())
                            : comm.ranks.issend(peer, tag, place.pieces());
  return place.is_dense() ? comm.ranks.isend(peer, tag, place.bytes())
                          : comm.ranks.isend(peer, tag, place.pieces());
}

scela::Request begin_receive(MPI_ABI_Comm& comm, const Bytes& place, int source, int tag) {
  return place.is_dense() ? comm.ranks.irecv(source, tag, place.bytes())
                          : comm.ranks.irecv(source, tag, place.pieces());
}

// The blocking calls of libscela need no request. They do not move collective operations, so they
// serve only if none is under way.
Result send(MPI_ABI_Comm& comm, const void* buf, int count, MPI_Datatype type, int peer, int tag,
            Mode mode) {
  if (peer == MPI_PROC_NULL) return {};
  const ConstBytes place(buf, count, type);
  if (!place.result().ok()) return place.result();
  if (mode == Mode::standard && place.is_dense() && process.under_way.empty())
    return result_of(comm.ranks.send(peer, tag, place.bytes()));
  scela::Request request = begin_send(comm, place, peer, tag, mode);
  return result_of(wait_for(request));
}

Result receive(MPI_ABI_Comm& comm, void* buf, int count, MPI_Datatype type, int source, int tag,
               MPI_Status* status) {
  if (source == MPI_PROC_NULL) return write_empty(status, MPI_PROC_NULL), Result{};
  const Bytes place(buf, count, type);
  if (!place.result().ok()) return place.result();
  if (place.is_dense() && process.under_way.empty()) {
    const scela::Status received = comm.ranks.recv(source, tag, place.bytes());
    write(status, received);
    return result_of(received);
  }
  scela::Request request = begin_receive(comm, place, source, tag);
  const scela::Status received = wait_for(request);
  write(status, received);
  return result_of(received);
}

// Makes the request of a message, which `start` begins. `wrong` is the error of its memory.
template <class Start>
Result begin(MPI_ABI_Comm& comm, int peer, MPI_Request* handle, const Result& wrong, Start start) {
  *handle = MPI_REQUEST_NULL;
  if (peer != MPI_PROC_NULL && !wrong.ok()) return wrong;
  auto made = std::make_unique<MPI_ABI_Request>();
  made->handler = comm.handler;
  made->is_to_nothing = peer == MPI_PROC_NULL;
  if (peer != MPI_PROC_NULL) made->request = start();
  // A wrong argument is an error of this call.
  if (made->request.test()) {
    const int error = error_of(made->request.status().code());
    if (error == MPI_ERR_RANK || error == MPI_ERR_TAG || error == MPI_ERR_BUFFER)
      return result_of(made->request.status());
  }
  *handle = made.release();
  return {};
}

Result begin_send(MPI_ABI_Comm& comm, const void* buf, int count, MPI_Datatype type, int peer,
                  int tag, Mode mode, MPI_Request* handle) {
  const ConstBytes place(buf, count, type);
  return begin(comm, peer, handle, place.result(),
               [&] { return begin_send(comm, place, peer, tag, mode); });
}

}  // namespace
}  // namespace layer

using namespace layer;

int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return with(comm, "MPI_Send", [&](MPI_ABI_Comm& c) {
    return send(c, buf, count, datatype, dest, tag, Mode::standard);
  });
}

int MPI_Ssend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return with(comm, "MPI_Ssend", [&](MPI_ABI_Comm& c) {
    return send(c, buf, count, datatype, dest, tag, Mode::synchronous);
  });
}

int MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  return with(comm, "MPI_Recv", [&](MPI_ABI_Comm& c) {
    return receive(c, buf, count, datatype, source, tag, status);
  });
}

int MPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return with(comm, "MPI_Isend", [&](MPI_ABI_Comm& c) {
    return begin_send(c, buf, count, datatype, dest, tag, Mode::standard, request);
  });
}

int MPI_Issend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return with(comm, "MPI_Issend", [&](MPI_ABI_Comm& c) {
    return begin_send(c, buf, count, datatype, dest, tag, Mode::synchronous, request);
  });
}

int MPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return with(comm, "MPI_Irecv", [&](MPI_ABI_Comm& c) {
    const Bytes place(buf, count, datatype);
    return begin(c, source, request, place.result(),
                 [&] { return begin_receive(c, place, source, tag); });
  });
}

// If the send fails, the receive's request is destroyed, and so cancelled.
int MPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status* status) {
  return with(comm, "MPI_Sendrecv", [&](MPI_ABI_Comm& c) -> Result {
    const Bytes place(recvbuf, recvcount, recvtype);
    if (source != MPI_PROC_NULL && !place.result().ok()) return place.result();
    scela::Request received;
    if (source != MPI_PROC_NULL) received = begin_receive(c, place, source, recvtag);
    Result sent = send(c, sendbuf, sendcount, sendtype, dest, sendtag, Mode::standard);
    if (!sent.ok()) return sent;
    if (source == MPI_PROC_NULL) return write_empty(status, MPI_PROC_NULL), Result{};
    const scela::Status end = wait_for(received);
    write(status, end);
    return result_of(end);
  });
}

// A probe does not move collective operations either, so it looks after them now and then.
int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return with(comm, "MPI_Probe", [&](MPI_ABI_Comm& c) -> Result {
    if (source == MPI_PROC_NULL) return write_empty(status, MPI_PROC_NULL), Result{};
    scela::Status found = {scela::Code::timed_out, -1};
    while (found.code() == scela::Code::timed_out) {
      move_operations();
      found = process.under_way.empty()
                  ? c.ranks.probe(source, tag)
                  : c.ranks.probe(source, tag, std::chrono::microseconds(100));
    }
    write(status, found);
    return result_of(found);
  });
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  return with(comm, "MPI_Iprobe", [&](MPI_ABI_Comm& c) -> Result {
    *flag = 1;
    if (source == MPI_PROC_NULL) return write_empty(status, MPI_PROC_NULL), Result{};
    move_operations();
    const std::optional<scela::Status> found = c.ranks.iprobe(source, tag);
    *flag = found ? 1 : 0;
    if (!found) return {};
    write(status, *found);
    return result_of(*found);
  });
}

int MPI_Get_count(const MPI_Status* status, MPI_Datatype datatype, int* count) {
  return with(MPI_COMM_SELF, "MPI_Get_count", [&](MPI_ABI_Comm&) -> Result {
    const Layout* const layout = layout_of(datatype).get();
    if (layout == nullptr)
      return {MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL or no datatype"};
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, status->MPI_internal, sizeof bytes);
    if (layout->size == 0)
      *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    else
      *count = bytes % layout->size == 0 ? static_cast<int>(bytes / layout->size) : MPI_UNDEFINED;
    return {};
  });
}
