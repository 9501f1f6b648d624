// Assigns contexts to the communicators that are made over one channel (Communicator::world). Each
// has a family of contexts: the channel's contexts for itself and for all communicators made from
// it. Any thread may call it.
//
// As long as there are contexts that no family has had, all ranks take the next ones without
// communicating. After that, families that all ranks have given back are used again. The ranks
// agree on all of these at once. The contexts of such a family begin a new life (ContextId), so
// that no message of an earlier life is taken for one of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "collectives/include/scela/communicator.h"
#include "comm-channel/include/scela/channel.h"

namespace scela::collectives {

class Families {
 public:
  // A family that was taken, or the error of take().
  struct Family {
    Status status;          // ok: the rest is valid
    std::size_t place = 0;  // index in first_contexts_
    std::uint32_t first_context = 0;
    std::uint32_t life = 0;
  };

  // Returns the channel's only Families object, which lasts as long as the channel is used. Any
  // thread may call it.
  static std::shared_ptr<Families> of(Channel& channel);

  // Returns a family for a new communicator. All ranks of the channel call it equally often, and it
  // may block until they do. Any thread may call it; calls are made one after the other. On an
  // error, `status` of the result is not ok.
  Family take(Channel& channel);
  // Takes back a family that this rank does not use any more. `life_after` is a life that none of
  // its communicators has had (ContextNumbers::life_after). Any thread may call it.
  void give_back(Channel& channel, const Family& family, std::uint32_t life_after);

 private:
  // Appends the families that all ranks have given back to `agreed_`. Blocks until all ranks have
  // called it. If it fails, returns the error.
  Status agree(Channel& channel);
  // Opens the contexts of messages of the families that all ranks have called free, and closes
  // those of families that this rank alone has. The vectors are bit sets of places.
  void open_agreed(Channel& channel, const std::vector<std::uint64_t>& free,
                   const std::vector<std::uint64_t>& agreed);

  std::mutex taking_;  // locked before mutex_
  std::mutex mutex_;
  std::vector<std::uint32_t> first_contexts_;  // by place, in the order reserved
  std::vector<bool> free_;                     // by place: this rank does not use it
  std::uint32_t life_ = 0;                     // no family given back has had it
  std::deque<std::size_t> agreed_;             // places that are free on all ranks
  std::uint32_t agreed_life_ = 0;              // life of the families in agreed_
  std::uint32_t agreements_ = 0;               // count of agree()
};

}  // namespace scela::collectives
