#include "hca/progress/task_objects.h"

#include <mutex>
#include <utility>

namespace scela::hca::progress {

TaskCq* TaskObjects::find(const ibv_cq* cq) const {
  const std::shared_lock lock(table_);
  const auto found = cqs_.find(cq);
  return found == cqs_.end() ? nullptr : found->second.get();
}

TaskQp* TaskObjects::find(const ibv_qp* qp) const {
  const std::shared_lock lock(table_);
  const auto found = qps_.find(qp);
  return found == qps_.end() ? nullptr : found->second.get();
}

bool TaskObjects::has_cqs() const {
  const std::shared_lock lock(table_);
  return !cqs_.empty();
}

bool TaskObjects::has_qps() const {
  const std::shared_lock lock(table_);
  return !qps_.empty();
}

void TaskObjects::add(std::unique_ptr<TaskCq> cq) {
  const std::unique_lock lock(table_);
  cqs_by_id_[cq->id] = cq.get();
  const ibv_cq* const device = cq->device;
  cqs_[device] = std::move(cq);
}

void TaskObjects::add(std::unique_ptr<TaskQp> qp) {
  const std::unique_lock lock(table_);
  qps_by_id_[qp->id] = qp.get();
  qps_by_number_[qp->device->qp_num] = qp.get();
  const ibv_qp* const device = qp->device;
  qps_[device] = std::move(qp);
}

void TaskObjects::remove(const TaskCq& cq) {
  const std::unique_lock lock(table_);
  cqs_by_id_.erase(cq.id);
  cqs_.erase(cq.device);
}

std::unique_ptr<TaskQp> TaskObjects::remove(const TaskQp& qp) {
  const std::unique_lock lock(table_);
  std::unique_ptr<TaskQp> removed = std::move(qps_.at(qp.device));
  qps_.erase(removed->device);
  qps_by_id_.erase(removed->id);
  qps_by_number_.erase(removed->device->qp_num);
  return removed;
}

TaskCq* TaskObjects::find_cq(CountId id) const {
  const auto found = cqs_by_id_.find(id);
  return found == cqs_by_id_.end() ? nullptr : found->second;
}

TaskQp* TaskObjects::find_qp_numbered(std::uint32_t number) const {
  const auto found = qps_by_number_.find(number);
  return found == qps_by_number_.end() ? nullptr : found->second;
}

void TaskObjects::clear_armed() {
  for (const auto& [device, cq] : cqs_)
    cq->armed = false;
}

}  // namespace scela::hca::progress
