// Objects of verbs that end with their handles, in the right order: each keeps what it was made of,
// so a domain is given back after the last region, and a device closed after the last domain,
// whatever the order in which the handles go.
//
// A handle is moved, not copied. What is made by hand (attributes) is the caller's.
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
  // The object goes, once nothing that was made of it is left.
  void reset() { owned_.reset(); }
  // For what is made of it.
  std::shared_ptr<const void> keep() const { return owned_; }

 private:
  struct Owned {
    Owned(Object* made, int (*with)(Object*), Keeps of)
        : keeps(std::move(of)), object(made), destroy(with) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() { destroy(object); }

    Keeps keeps;  // goes after the object
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

// Error of a verb that left `number`, on a device: which, where, why, and what to do.
Error verbs_error(const std::string& what, const ibv_context* context, int number);
std::string hint_of(int number);  // what to do about it; may be empty

Result<Pd> alloc_pd(const Symbols& symbols, const Context& context);
Result<Mr> reg_mr(const Symbols& symbols, const Pd& pd, void* address, std::size_t bytes,
                  int access);
Result<CompChannel> create_comp_channel(const Symbols& symbols, const Context& context);
// channel: may be none.
Result<Cq> create_cq(const Symbols& symbols, const Context& context, int entries,
                     const CompChannel& channel);
// For RC and UD queue pairs.
Result<Srq> create_srq(const Symbols& symbols, const Pd& pd, std::uint32_t requests);
// The domain of a file, which processes of a node share by opening the same one; -1: this
// process's own.
Result<Xrcd> open_xrcd(const Context& context, int file);
// Found by its number (ibv_get_srq_num); `completions` gets those of its receives.
Result<Srq> create_xrc_srq(const Symbols& symbols, const Pd& pd, const Xrcd& xrcd,
                           const Cq& completions, std::uint32_t requests);

struct QueueSizes {
  std::uint32_t sends = 64, receives = 0;
  std::uint32_t send_pieces = 1, receive_pieces = 1;
  std::uint32_t inline_bytes = 0;
};
// RC or UD. srq: may be none.
Result<Qp> create_qp(const Symbols& symbols, const Pd& pd, ibv_qp_type type, const Cq& sends,
                     const Cq& receives, const Srq& srq, const QueueSizes& sizes);
Result<Qp> create_xrc_send_qp(const Symbols& symbols, const Pd& pd, const Cq& sends,
                              const QueueSizes& sizes);
Result<Qp> create_xrc_recv_qp(const Symbols& symbols, const Context& context, const Xrcd& xrcd);
// Another process's XRC_RECV queue pair: it lives until the last that made or opened it lets go.
Result<Qp> open_xrc_recv_qp(const Symbols& symbols, const Context& context, const Xrcd& xrcd,
                            std::uint32_t number);
Result<Ah> create_ah(const Symbols& symbols, const Pd& pd, ibv_ah_attr attributes);

}  // namespace scela::channel::verbs
