// Handles scela_hca_join: a program tells an engine, which a program has started, its node and its
// job.
#include <cerrno>
#include <memory>

#include "common/crypto/hmac.h"
#include "common/os/process/process_tree.h"
#include "hca/engine/daemon/engine_server.h"
#include "hca/engine/io/stderr_report.h"

namespace scela::hca {

// The first program that tells counts; the others must say the same. If the engine was told when it
// was started (by an agent), programs need not tell, but may: one program works under all
// launchers.
bool Server::join(Served& served, std::string& record) {
  auto told = parse_fabric_record(record);
  wipe(record);
  if (!told) {
    report(told.error().text());
    return refuse(served, EINVAL);
  }
  if (told->key_is_own || told->asks) {
    report("a program names a job by 'key', and cannot be asked");
    return refuse(served, EINVAL);
  }
  told->encrypt = told->encrypt || rules_.encrypt;
  if (was_told_) {
    // The engine keeps the addresses that it was started with. But nothing that is to be encrypted
    // may be sent in the clear.
    if (told->encrypt && !fabric_->encrypt()) return refuse(served, EEXIST);
    tell_settings();
    return confirm(served);
  }
  if (fabric_) return fabric_->own_node().is_of(*told) ? confirm(served) : refuse(served, EEXIST);
  // The attached programs were told addresses that would not be the node's any more.
  if (attached_ > 0) return refuse(served, EBUSY);
  leave_memory_out_of_core_files();  // there is a key in it
  auto fabric = Fabric::listen(*told);
  if (!fabric) {
    report(fabric.error().text());
    return refuse(served, EADDRNOTAVAIL);
  }
  if (!(*fabric)->join(poller_, engine_)) return refuse(served, ENOMEM);
  const Settings known = (*fabric)->own_node().settings();
  rules_.settings.guid = known.guid;
  rules_.settings.first_lid = known.first_lid;
  rules_.settings.gid = known.gid;
  // No program is attached, so the engine has nothing in it but its settings.
  std::destroy_at(&engine_);
  std::construct_at(&engine_, machine_, rules_.settings);
  if (trace_) engine_.watch(&*trace_);
  fabric_ = std::move(*fabric);
  machine_.join(*fabric_);
  tell_settings();
  return confirm(served);
}

bool Server::confirm(Served& served) const {
  served.joined = true;
  return served.connection.answer(Answer{}, {});
}

}  // namespace scela::hca
