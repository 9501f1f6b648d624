// All objects of all processes, by their numbers, and the processes that are attached.
//
// ObjectControl and QpControl (hca/core/control) make and destroy the objects, and count their
// users. All other parts of the interpreter find objects here. The interpreter's one thread uses
// it.
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "hca/core/model/objects.h"

namespace scela::hca {

// The bits of an object's number that are its index, and those that are its generation (Table).
// Queue pairs and SRQs have numbers of 24 bits, as their numbers on the wire.
template <class T>
inline constexpr unsigned kIndexBits = 20;
template <>
inline constexpr unsigned kIndexBits<Mr> = 22;
template <>
inline constexpr unsigned kIndexBits<Srq> = 16;
template <>
inline constexpr unsigned kIndexBits<Qp> = 16;
template <class T>
inline constexpr unsigned kGenerationBits = kIndexBits<T> == 16 ? 8 : 32 - kIndexBits<T>;

// The tables of objects, one for each type, and the table of processes.
class ObjectTables {
 public:
  // In these functions T is one of Pd, Mr, Cq, Channel, Srq, Xrcd and Qp.
  //
  // Returns the object with this number, or null if there is none. find_owned() also returns null
  // if the object belongs to another process. The pointers are valid until remove().
  template <class T>
  T* find(std::uint32_t number) const {
    return std::get<TableOf<T>>(tables_).find(number);
  }
  template <class T>
  T* find_owned(std::uint32_t number, ProcessId process) const {
    T* const object = find<T>(number);
    return object && object->owner == process ? object : nullptr;
  }
  // Puts the object into its table. Returns its number, or 0 if the table is full.
  template <class T>
  std::uint32_t add(T object) {
    return std::get<TableOf<T>>(tables_).add(std::move(object));
  }
  // Destroys the object with this number; an unknown number is ignored. Users of the object are not
  // checked.
  template <class T>
  void remove(std::uint32_t number) {
    std::get<TableOf<T>>(tables_).remove(number);
  }
  // Returns how many objects of the type there are.
  template <class T>
  std::uint32_t count() const {
    return std::get<TableOf<T>>(tables_).count();
  }
  // Calls function(T&) for each object of the type, in the order of their indices.
  template <class T, class Function>
  void each(Function function) const {
    std::get<TableOf<T>>(tables_).each(function);
  }

  // Subtracts one from the users of the protection domain with this number, because an object in it
  // is destroyed. An unknown number is ignored.
  void release_pd(std::uint32_t pd) {
    if (Pd* const found = find<Pd>(pd)) --found->users;
  }

  // Adds a process with its page of doorbells, which must stay mapped until detach().
  void attach(ProcessId process, ProcessPage& page);
  // Removes a process that has no objects any more, and adds its traffic to departed(). An unknown
  // process is ignored.
  void detach(ProcessId process);
  // Returns the objects of a process, or null if it is not attached.
  Attached* find_process(ProcessId process);
  const Attached* find_process(ProcessId process) const;
  // Returns the objects of a process, which must be attached.
  Attached& process(ProcessId process) { return processes_.at(process); }
  // Returns all attached processes, in the order of their ids.
  const std::map<ProcessId, Attached>& processes() const { return processes_; }
  // Returns the traffic of the processes that were detached.
  const Traffic& departed() const { return departed_; }

  // Returns the memory region that a request names by `key` (lkey or rkey), if the request may
  // access `bytes` bytes at `address` in it. `address` is counted like Mr::iova, and `rights` are
  // the needed flags of namespace access. Returns null if the key is unknown, the region is in
  // another protection domain or lacks a right, or the range is not within it.
  const Mr* find_region(std::uint32_t key, std::uint32_t pd, std::uint64_t address,
                        std::uint64_t bytes, std::uint32_t rights) const;
  // Replaces `pieces` by the ranges of the owner's memory that `sges` name; empty ones are left
  // out. Returns false if one of them is wrong (find_region()) or belongs to another process;
  // `pieces` is then incomplete.
  bool find_pieces(const std::vector<Sge>& sges, std::uint32_t pd, ProcessId owner,
                   std::uint32_t rights, std::vector<Piece>& pieces) const;

 private:
  template <class T>
  using TableOf = Table<T, kIndexBits<T>, kGenerationBits<T>>;

  // The queue pairs 0 and 1 of every port are for management.
  static constexpr std::uint32_t kFirstQp = 2;
  std::tuple<TableOf<Pd>, TableOf<Mr>, TableOf<Cq>, TableOf<Channel>, TableOf<Srq>, TableOf<Xrcd>,
             TableOf<Qp>>
      tables_{TableOf<Pd>(),  TableOf<Mr>(),   TableOf<Cq>(),        TableOf<Channel>(),
              TableOf<Srq>(), TableOf<Xrcd>(), TableOf<Qp>(kFirstQp)};
  std::map<ProcessId, Attached> processes_;
  Traffic departed_;
};

}  // namespace scela::hca
