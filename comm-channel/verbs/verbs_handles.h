// Objects of verbs that are destroyed with their handles, in the right order. Each handle keeps the
// objects that it was made of. So a domain is destroyed after its last region, and a device is
// closed after its last domain, in whatever order the handles are destroyed.
//
// A handle is moved, not copied. Structures that callers fill in (attributes) stay theirs.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "comm-channel/verbs/symbols.h"
#include "common/core/result.h"

namespace scela::channel::verbs {

// Owns one object of verbs. `destroy` is the verb that destroys it, and `keeps` are keep() of the
// objects that it was made of.
template <class Object>
class Handle {
 public:
  using Keeps = std::array<std::shared_ptr<const void>, 4>;

  Handle() = default;
  Handle(Object* object, int (*destroy)(Object*), Keeps keeps = {})
      : owned_(std::make_shared<Owned>(object, destroy, std::move(keeps))) {}
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&&) noexcept = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  Object* get() const { return owned_ ? owned_->object : nullptr; }
  Object* operator->() const { return get(); }
  explicit operator bool() const { return owned_ != nullptr; }
  // Lets go of the object, which is destroyed once nothing that was made of it is left.
  void reset() { owned_.reset(); }
  // Returns a reference that objects made of this one hold.
  std::shared_ptr<const void> keep() const { return owned_; }

 private:
  struct Owned {
    Owned(Object* made, int (*with)(Object*), Keeps of)
        : keeps(std::move(of)), object(made), destroy(with) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() { destroy(object); }

    Keeps keeps;  // destroyed after the object
    Object* object;
    int (*destroy)(Object*);
  };
  std::shared_ptr<Owned> owned_;
};

using Context = Handle<ibv_context>;
using Pd = Handle<ibv_pd>;
using Mr = Handle<ibv_mr>;
using CompChannel = Handle<ibv_comp_channel>;
using Cq = Handle<ibv_cq>;
using Srq = Handle<ibv_srq>;
using Xrcd = Handle<ibv_xrcd>;
using Qp = Handle<ibv_qp>;
using Ah = Handle<ibv_ah>;

// Returns the error of a verb that failed with `number` on a device: which verb, where, why, and
// what to do.
Error verbs_error(const std::string& what, const ibv_context* context, int number);
std::string hint_of(int number);  // what to do about it; may be empty

Result<Pd> alloc_pd(const Symbols& symbols, const Context& context);
// Registers memory. `access` has the flags of ibv_reg_mr. The caller keeps the memory until the
// region is destroyed.
Result<Mr> reg_mr(const Symbols& symbols, const Pd& pd, void* address, std::size_t bytes,
                  int access);
Result<CompChannel> create_comp_channel(const Symbols& symbols, const Context& context);
// Makes a completion queue for at least `entries` completions. `channel` gets its events; it may be
// empty.
Result<Cq> create_cq(const Symbols& symbols, const Context& context, int entries,
                     const CompChannel& channel);
// Makes a shared receive queue for RC and UD queue pairs.
Result<Srq> create_srq(const Symbols& symbols, const Pd& pd, std::uint32_t requests);
// Opens the XRC domain of a file, which processes of a node share by opening the same file. With -1
// the domain is this process's own.
Result<Xrcd> open_xrcd(const Context& context, int file);
// Makes an XRC receive queue, which senders name by its number (ibv_get_srq_num). `completions`
// gets the completions of its receives.
Result<Srq> create_xrc_srq(const Symbols& symbols, const Pd& pd, const Xrcd& xrcd,
                           const Cq& completions, std::uint32_t requests);

// The most requests in each queue, pieces (scatter/gather entries) of a request, and bytes that a
// send may carry inline.
struct QueueSizes {
  std::uint32_t sends = 64, receives = 0;
  std::uint32_t send_pieces = 1, receive_pieces = 1;
  std::uint32_t inline_bytes = 0;
};
// Makes an RC or UD queue pair. `srq` may be empty.
Result<Qp> create_qp(const Symbols& symbols, const Pd& pd, ibv_qp_type type, const Cq& sends,
                     const Cq& receives, const Srq& srq, const QueueSizes& sizes);
// These make the two kinds of XRC queue pair, in the state RESET. Receives of the second one are
// completed in the queue of the SRQ that each message names.
Result<Qp> create_xrc_send_qp(const Symbols& symbols, const Pd& pd, const Cq& sends,
                              const QueueSizes& sizes);
Result<Qp> create_xrc_recv_qp(const Symbols& symbols, const Context& context, const Xrcd& xrcd);
// Opens the XRC_RECV queue pair of another process. It lives until the last process that made or
// opened it lets go.
Result<Qp> open_xrc_recv_qp(const Symbols& symbols, const Context& context, const Xrcd& xrcd,
                            std::uint32_t number);
// Makes an address handle for the sends of a UD queue pair.
Result<Ah> create_ah(const Symbols& symbols, const Pd& pd, ibv_ah_attr attributes);

}  // namespace scela::channel::verbs
