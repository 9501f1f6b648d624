// Owners of verbs objects. A destroyer ignores errors. Cases of their own (objects.cpp) judge if
// destroying works, and they release the object first.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

namespace semantics {

struct Destroyer {
  void operator()(ibv_context* p) const { ibv_close_device(p); }
  void operator()(ibv_pd* p) const { ibv_dealloc_pd(p); }
  void operator()(ibv_mr* p) const { ibv_dereg_mr(p); }
  void operator()(ibv_cq* p) const { ibv_destroy_cq(p); }
  void operator()(ibv_comp_channel* p) const { ibv_destroy_comp_channel(p); }
  void operator()(ibv_srq* p) const { ibv_destroy_srq(p); }
  void operator()(ibv_qp* p) const { ibv_destroy_qp(p); }
  void operator()(ibv_ah* p) const { ibv_destroy_ah(p); }
  void operator()(ibv_xrcd* p) const { ibv_close_xrcd(p); }
};

template <typename T>
using Owner = std::unique_ptr<T, Destroyer>;

using Context = Owner<ibv_context>;
using Pd = Owner<ibv_pd>;
using Mr = Owner<ibv_mr>;
using Cq = Owner<ibv_cq>;
using Channel = Owner<ibv_comp_channel>;
using Srq = Owner<ibv_srq>;
using Qp = Owner<ibv_qp>;
using Ah = Owner<ibv_ah>;
using Xrcd = Owner<ibv_xrcd>;

}  // namespace semantics
