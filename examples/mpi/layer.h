// The objects behind the handles of mpi.h, and what the parts of the layer share.
//
//   process.cpp        MPI_Init to MPI_Finalize, errors
//   communicators.cpp  communicators and groups
//   datatypes.cpp      datatypes
//   messages.cpp       sends, receives and probes
//   requests.cpp       waits and tests
//   collectives.cpp    reductions and collective operations
//
// The layer includes installed headers of libscela alone, and every object of it is a few words
// around one of libscela. A handle is below 0x1000 if MPI names it, otherwise it is an address.
// One thread at a time calls the layer (MPI_THREAD_SERIALIZED).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <scela/channel.h>
#include <scela/communicator.h>

#include "mpi.h"

namespace layer {

// The result of a call inside the layer: a class of errors, and the text for the user.
struct [[nodiscard]] Result {
  int error = MPI_SUCCESS;
  std::string why;
  bool ok() const { return error == MPI_SUCCESS; }
};

// Each code of libscela for a wrong argument has its class of MPI, so the layer repeats few checks.
int error_of(scela::Code code);
inline Result result_of(const scela::Status& status) {
  if (status.ok()) return {};
  return {error_of(status.code()), status.message()};
}

// Hands an error to the handler: MPI_ERRORS_ARE_FATAL ends the job, MPI_ERRORS_RETURN returns the
// class. `function` is the name of the call.
int report(MPI_Errhandler handler, const char* function, const Result& result);

// Bytes of one element that follow each other in memory.
struct Block {
  MPI_Aint offset = 0;  // from the element's address
  std::size_t bytes = 0;
};

// The places of the elements of a datatype. A Layout does not change once it is made, so a request
// may share it with a datatype that the program frees.
struct Layout {
  std::vector<Block> blocks;  // of one element, in the order of its message
  std::size_t size = 0;       // bytes of one element in a message
  MPI_Aint lb = 0, extent = 0;
  std::size_t alignment = 1;  // the greatest of its basic types
  // The type that libscela reduces, and its size. It is opaque for the types that programs make.
  scela::ElementType element = scela::ElementType::opaque;
  std::size_t element_bytes = 0;

  // Returns whether any number of elements follow each other without a gap.
  bool is_dense() const {
    return blocks.empty() || (blocks.size() == 1 && blocks[0].offset == 0 && lb == 0 &&
                              static_cast<MPI_Aint>(blocks[0].bytes) == extent);
  }
  // Calls `use` with the address and the length of each block of `count` elements at `buffer`.
  template <class Byte, class Use>
  void each_block(Byte* buffer, int count, Use use) const {
    for (MPI_Aint i = 0; i < count; ++i)
      for (const Block& block : blocks)
        use(buffer + i * extent + block.offset, block.bytes);
  }
  // These copy elements from their places to `packed`, which has count * size bytes, and back.
  void pack(const void* buffer, int count, std::byte* packed) const;
  void unpack(const std::byte* packed, void* buffer, int count) const;
};

// Returns the layout of a datatype, or null if the handle is none.
const std::shared_ptr<const Layout>& layout_of(MPI_Datatype type);

// The memory of one message: one range of bytes, or several pieces if the datatype has gaps.
template <class Byte>
class Place {
 public:
  using Pointer = std::conditional_t<std::is_const_v<Byte>, const void*, void*>;
  Place(Pointer buffer, int count, MPI_Datatype type);
  const Result& result() const { return result_; }
  bool is_dense() const { return is_dense_; }
  std::span<Byte> bytes() const { return bytes_; }
  scela::PieceList<Byte> pieces() const { return pieces_; }

 private:
  Result result_;  // an error: the count or the type is wrong
  bool is_dense_ = true;
  std::span<Byte> bytes_;
  std::vector<std::span<Byte>> pieces_;
};

template <class Byte>
Place<Byte>::Place(Pointer buffer, int count, MPI_Datatype type) {
  const Layout* const layout = layout_of(type).get();
  if (count < 0) {
    result_ = {MPI_ERR_COUNT, "the count is " + std::to_string(count) + ", which is below 0"};
  } else if (layout == nullptr) {
    result_ = {MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL or no datatype"};
  } else if (layout->is_dense()) {
    bytes_ = {static_cast<Byte*>(buffer), static_cast<std::size_t>(count) * layout->size};
  } else {
    is_dense_ = false;
    pieces_.reserve(static_cast<std::size_t>(count) * layout->blocks.size());
    layout->each_block(static_cast<Byte*>(buffer), count,
                       [this](Byte* at, std::size_t bytes) { pieces_.emplace_back(at, bytes); });
  }
}

// A collective operation, with copies of elements that have gaps. The copies live as long as it.
class Operation {
 public:
  // How libscela sees elements: as bytes that are moved, as opaque elements that the program's
  // function reduces, or as those of a predefined type.
  enum class Elements : unsigned char { moved, opaque, reduced };
  // These return count * blocks elements at `buffer`. The input may be MPI_IN_PLACE. If elements
  // have gaps, a copy takes the output, which finish() puts in place; with `loads` the copy begins
  // with what the elements are now. An error is in wrong().
  scela::ConstBuffer input(const void* buffer, int count, int blocks, MPI_Datatype type,
                           Elements as = Elements::moved);
  scela::Buffer output(void* buffer, int count, int blocks, MPI_Datatype type, bool loads,
                       Elements as = Elements::moved);
  const Result& wrong() const { return wrong_; }
  void set(scela::Collective what) { what_ = std::move(what); }
  const scela::Collective& what() const { return *what_; }
  // Called once, if the operation has ended without an error.
  void finish() {
    if (then_) then_();
  }

 private:
  scela::Buffer view(void* buffer, int count, int blocks, MPI_Datatype type, Elements as,
                     bool loads, std::vector<std::byte>& copy);
  Result wrong_;
  std::optional<scela::Collective> what_;
  std::vector<std::byte> in_, out_;
  std::function<void()> then_;
};

// The state of the process between MPI_Init and MPI_Finalize.
struct Process {
  enum class Stage : unsigned char {
    before,    // MPI_Init was not called
    inside,    // MPI may be used
    finished,  // MPI_Finalize has returned
  };
  Stage stage = Stage::before;
  std::unique_ptr<scela::Channel> channel;
  MPI_Comm world = nullptr, self = nullptr;
  // Collective operations that no call has found complete. A blocking call for messages moves them
  // as well (see wait_for).
  std::vector<MPI_Request> under_way;
  std::vector<MPI_Request> left;  // those that MPI_Request_free has taken: MPI_Finalize waits
};
extern Process process;

}  // namespace layer

struct MPI_ABI_Comm {
  scela::Communicator ranks;
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
};

struct MPI_ABI_Group {
  std::vector<int> members;  // ranks of MPI_COMM_WORLD
};

struct MPI_ABI_Datatype {
  std::shared_ptr<const layer::Layout> layout;
};

struct MPI_ABI_Op {
  MPI_User_function* function = nullptr;
  bool commutes = false;
};

struct MPI_ABI_Request {
  scela::Request request;
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
  bool is_to_nothing = false;                   // a message to or from MPI_PROC_NULL
  std::unique_ptr<layer::Operation> operation;  // null: a message
};

namespace layer {

// Returns the communicator of a handle, or null if it is none.
inline MPI_Comm object_of(MPI_Comm comm) {
  if (comm == MPI_COMM_WORLD) return process.world;
  if (comm == MPI_COMM_SELF) return process.self;
  return reinterpret_cast<std::uintptr_t>(comm) < 0x1000 ? nullptr : comm;
}

// Runs `call` with the communicator's object, and reports its error. An error that concerns no
// communicator goes to the handler of MPI_COMM_SELF, as MPI 4.0 has it.
template <class Call>
int with(MPI_Comm handle, const char* function, Call call) {
  const MPI_Comm comm = object_of(handle);
  const MPI_Comm reports = comm != nullptr ? comm : process.self;
  const MPI_Errhandler handler = reports != nullptr ? reports->handler : MPI_ERRORS_ARE_FATAL;
  if (process.stage != Process::Stage::inside)
    return report(handler, function, {MPI_ERR_OTHER, "MPI_Init was not called, or MPI has ended"});
  if (comm == nullptr)
    return report(handler, function, {MPI_ERR_COMM, "the handle is MPI_COMM_NULL or none"});
  try {
    const Result result = call(*comm);
    return result.ok() ? MPI_SUCCESS : report(handler, function, result);
  } catch (const std::bad_alloc&) {
    return report(handler, function, {MPI_ERR_NO_MEM, "there is no memory for the call"});
  }
}

// Blocks until the request is complete, and returns its status. MPI has every call move whatever is
// under way, but libscela's waits for messages do not move collective operations. So this one does:
// a peer may send only after its part of one.
scela::Status wait_for(scela::Request& request);
// Moves collective operations without blocking.
void move_operations();
// Takes an operation off the list of those under way.
void is_complete(MPI_Request request);
// Waits for the operations that MPI_Request_free has left.
void finish_left();
// Writes what MPI_Status says of a message. `status` may be MPI_STATUS_IGNORE.
void write(MPI_Status* status, const scela::Status& from);
void write_empty(MPI_Status* status, int source = MPI_ANY_SOURCE);

}  // namespace layer
