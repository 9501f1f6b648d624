#include "comm-channel/verbs/management_queue.h"

#include <cerrno>

#include "common/core/text.h"

namespace scela::channel::verbs {

namespace {

Error nobody(const char* what, const ibv_context* context) {
  Error error = verbs_error(what, context, EOPNOTSUPP);
  error.hint = cat("install ", kTasksLibrary, " where the linker looks: then a thread does it");
  return error;
}

}  // namespace

Result<Cq> create_task_cq(const Capability& capability, const Context& context, int entries,
                          const CompChannel* channel) {
  constexpr char kWhat[] = "create a completion queue for tasks";
  if (capability.tasks == nullptr) return fail(nobody(kWhat, context.get()));
  ibv_comp_channel* const events = channel != nullptr ? channel->get() : nullptr;
  ibv_cq* const cq = capability.tasks->scela_create_cq(context.get(), entries, nullptr, events, 0);
  if (cq == nullptr) return fail(verbs_error(kWhat, context.get(), errno));
  return Cq(cq, capability.tasks->scela_destroy_cq,
            {context.keep(), channel != nullptr ? channel->keep() : nullptr});
}

Result<Qp> create_task_qp(const Capability& capability, const Pd& pd, ibv_qp_type type,
                          const Cq& sends, const Cq& receives, const Srq& srq,
                          const QueueSizes& sizes, std::uint32_t flags) {
  constexpr char kWhat[] = "create a queue pair for tasks";
  if (capability.tasks == nullptr) return fail(nobody(kWhat, pd->context));
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = type;
  attributes.send_cq = sends.get();
  attributes.recv_cq = receives.get();
  attributes.srq = srq.get();
  attributes.cap = {sizes.sends, srq ? 0 : sizes.receives, sizes.send_pieces,
                    srq ? 0 : sizes.receive_pieces, sizes.inline_bytes};
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  attributes.pd = pd.get();
  attributes.create_flags = flags;
  ibv_qp* const qp = capability.tasks->scela_create_qp(pd->context, &attributes);
  if (qp == nullptr) return fail(verbs_error(kWhat, pd->context, errno));
  return Qp(qp, capability.tasks->scela_destroy_qp,
            {pd.keep(), sends.keep(), receives.keep(), srq.keep()});
}

Result<ManagementQueue> ManagementQueue::make(const Capability& capability, const Pd& pd,
                                              const Cq& completions, std::uint32_t max_tasks) {
  constexpr char kWhat[] = "create a management queue";
  if (capability.tasks == nullptr) return fail(nobody(kWhat, pd->context));
  ibv_qp* const qp = capability.tasks->scela_create_mq(pd.get(), completions.get(), max_tasks);
  if (qp == nullptr) return fail(verbs_error(kWhat, pd->context, errno));
  return ManagementQueue(*capability.tasks, Qp(qp, capability.tasks->scela_destroy_qp,
                                               {pd.keep(), completions.keep()}));
}

Result<void> ManagementQueue::post(std::span<scela_task> tasks) {
  return post_tasks(*tasks_, qp_, tasks);
}

Result<void> post_tasks(const TaskSymbols& symbols, const Qp& qp, std::span<scela_task> tasks) {
  if (tasks.empty()) return {};
  for (std::size_t i = 0; i < tasks.size(); ++i)
    tasks[i].next = i + 1 < tasks.size() ? &tasks[i + 1] : nullptr;
  scela_task* bad = nullptr;
  const int error = symbols.scela_post_task(qp.get(), tasks.data(), &bad);
  if (error == 0) return {};
  return fail(
      verbs_error(cat("post task ", bad == nullptr ? 0 : bad - tasks.data(), " of ", tasks.size()),
                  qp->context, error));
}

}  // namespace scela::channel::verbs
