#include "hca/core/model/object_tables.h"

namespace scela::hca {

void ObjectTables::attach(ProcessId process, ProcessPage& page) {
  Attached& added = processes_[process];
  added.page = &page;
  added.doorbell_users.resize(kDoorbells);
}

void ObjectTables::detach(ProcessId process) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  departed_ += found->second.traffic;
  processes_.erase(found);
}

Attached* ObjectTables::find_process(ProcessId process) {
  const auto found = processes_.find(process);
  return found == processes_.end() ? nullptr : &found->second;
}

const Attached* ObjectTables::find_process(ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? nullptr : &found->second;
}

const Mr* ObjectTables::find_region(std::uint32_t key, std::uint32_t pd, std::uint64_t address,
                                    std::uint64_t bytes, std::uint32_t rights) const {
  const Mr* mr = find<Mr>(key);
  if (!mr || mr->pd != pd || (mr->access & rights) != rights) return nullptr;
  if (address < mr->iova || bytes > mr->length || address - mr->iova > mr->length - bytes)
    return nullptr;
  return mr;
}

bool ObjectTables::find_pieces(const std::vector<Sge>& sges, std::uint32_t pd, ProcessId owner,
                               std::uint32_t rights, std::vector<Piece>& pieces) const {
  pieces.clear();
  for (const Sge& sge : sges) {
    if (sge.length == 0) continue;
    const Mr* mr = find_region(sge.lkey, pd, sge.address, sge.length, rights);
    if (!mr || mr->owner != owner) return false;
    pieces.push_back({sge.address - mr->iova + mr->address, sge.length});
  }
  return true;
}

}  // namespace scela::hca
