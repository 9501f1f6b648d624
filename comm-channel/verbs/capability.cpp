#include "comm-channel/verbs/capability.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "common/core/text.h"

namespace scela::channel::verbs {

namespace {

std::uint32_t count(int number) {
  return static_cast<std::uint32_t>(std::max(number, 0));
}

Result<ibv_port_attr> query_port(const Symbols& symbols, const Context& context,
                                 std::uint8_t number) {
  ibv_port_attr port{};
  int error = 0;
  if (verbs_context* const table = verbs_get_ctx_op(context.get(), query_port)) {
    error = table->query_port(context.get(), number, &port, sizeof port);
  } else {
    error = (symbols.ibv_query_port)(context.get(), number,
                                     reinterpret_cast<_compat_ibv_port_attr*>(&port));
  }
  if (error != 0)
    return fail(verbs_error(cat("query port ", static_cast<int>(number)), context.get(), error));
  return port;
}

bool is_mapped_ipv4(const ibv_gid& gid) {
  static constexpr std::uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, kPrefix, sizeof kPrefix) == 0;
}

// On Ethernet, returns the RoCE v2 (routed) GID of an IPv4 address, otherwise any RoCE v2 GID.
std::optional<ibv_gid_entry> ethernet_gid(const Symbols& symbols, const Context& context,
                                          std::uint8_t port, int entries) {
  if (symbols._ibv_query_gid_table == nullptr || entries < 1) return std::nullopt;
  std::vector<ibv_gid_entry> table(static_cast<std::size_t>(entries) * 4);
  const ssize_t found = symbols._ibv_query_gid_table(context.get(), table.data(), table.size(), 0,
                                                     sizeof(ibv_gid_entry));
  std::optional<ibv_gid_entry> best;
  for (ssize_t i = 0; i < found; ++i) {
    const ibv_gid_entry& entry = table[static_cast<std::size_t>(i)];
    if (entry.port_num != port || entry.gid_type != IBV_GID_TYPE_ROCE_V2) continue;
    if (!best || (is_mapped_ipv4(entry.gid) && !is_mapped_ipv4(best->gid))) best = entry;
  }
  return best;
}

std::vector<Port> active_ports(const Symbols& symbols, const Context& context, int ports) {
  std::vector<Port> active;
  for (int number = 1; number <= ports; ++number) {
    Port port;
    port.number = static_cast<std::uint8_t>(number);
    const auto found = query_port(symbols, context, port.number);
    if (!found || found->state != IBV_PORT_ACTIVE) continue;
    const bool ethernet = found->link_layer == IBV_LINK_LAYER_ETHERNET;
    port.lid = found->lid;
    port.mtu = found->active_mtu;
    port.longest_message = found->max_msg_sz;
    port.by_gid = ethernet || symbols.is_adapter;
    if (ethernet) {
      if (const auto entry =
              ethernet_gid(symbols, context, port.number, static_cast<int>(found->gid_tbl_len))) {
        port.gid_index = static_cast<std::uint8_t>(entry->gid_index);
      }
    }
    if (symbols.ibv_query_gid(context.get(), port.number, port.gid_index, &port.gid) != 0 &&
        port.by_gid) {
      continue;
    }
    active.push_back(port);
  }
  return active;
}

// Makes and destroys an RC queue pair with a shared receive queue. Returns an empty string if it
// works, otherwise the reason.
std::string try_rc(const Symbols& symbols, const Context& context, const Pd& pd) {
  auto cq = create_cq(symbols, context, 1, {});
  if (!cq) return cq.error().text();
  auto srq = create_srq(symbols, pd, 1);
  if (!srq) return srq.error().text();
  auto qp = create_qp(symbols, pd, IBV_QPT_RC, *cq, *cq, *srq, {.sends = 1});
  return qp ? "" : qp.error().text();
}

// Makes and destroys an XRC domain, a queue and both ends. Returns an empty string if it works,
// otherwise the reason. `no_open_qp` gets the reason why the far end cannot be opened.
std::string try_xrc(const Symbols& symbols, const Context& context, const Pd& pd,
                    std::string& no_open_qp) {
  auto xrcd = open_xrcd(context, -1);
  if (!xrcd) return xrcd.error().text();
  auto cq = create_cq(symbols, context, 1, {});
  if (!cq) return cq.error().text();
  auto srq = create_xrc_srq(symbols, pd, *xrcd, *cq, 1);
  if (!srq) return srq.error().text();
  auto sender = create_xrc_send_qp(symbols, pd, *cq, {.sends = 1});
  if (!sender) return sender.error().text();
  auto target = create_xrc_recv_qp(symbols, context, *xrcd);
  if (!target) return target.error().text();
  const auto opened = open_xrc_recv_qp(symbols, context, *xrcd, (*target)->qp_num);
  if (!opened) no_open_qp = opened.error().text();
  return "";
}

void find_executor(const Symbols& symbols, Capability& capability) {
  const char* const asked = std::getenv("SCELA_TASKS");
  const bool thread = asked != nullptr && std::string_view(asked) == "thread";
  if (symbols.tasks != nullptr && !thread) {
    capability.tasks = symbols.tasks;
    capability.executor = Executor::engine;
    return;
  }
  capability.tasks = load_thread_tasks();
  if (capability.tasks != nullptr) capability.executor = Executor::thread;
}

Limits limits_of(const ibv_device_attr& device) {
  Limits limits;
  limits.queue_pairs = count(device.max_qp);
  limits.shared_queues = count(device.max_srq);
  limits.shared_requests = count(device.max_srq_wr);
  limits.requests = count(device.max_qp_wr);
  limits.completions = count(device.max_cqe);
  limits.regions = count(device.max_mr);
  limits.reads = count(std::min(device.max_qp_rd_atom, device.max_qp_init_rd_atom));
  limits.region_bytes = device.max_mr_size;
  return limits;
}

}  // namespace

// A request holds at most 2 GiB, even if the port says more.
std::uint64_t longest_message(const std::vector<Port>& ports) {
  std::uint64_t longest = std::uint64_t{1} << 31;
  for (const Port& port : ports)
    if (port.longest_message != 0) longest = std::min<std::uint64_t>(longest, port.longest_message);
  return longest;
}

Capability probe(const Symbols& symbols, const Context& context) {
  Capability found;
  found.library = symbols.library;
  found.device = context->device->name;
  ibv_device_attr device{};
  if (const int error = symbols.ibv_query_device(context.get(), &device); error != 0) {
    found.reason = verbs_error("query the device", context.get(), error).text();
    return found;
  }
  found.limits = limits_of(device);
  found.ports = active_ports(symbols, context, device.phys_port_cnt);
  if (found.ports.empty()) {
    found.reason = cat(found.device, ": none of its ", static_cast<int>(device.phys_port_cnt),
                       " ports is active and has an address (see ibv_devinfo; InfiniBand needs a "
                       "subnet manager)");
    return found;
  }
  auto pd = alloc_pd(symbols, context);
  if (!pd) {
    found.reason = pd.error().text();
    return found;
  }
  // The capability bit is checked first, so that a driver without XRC is not asked for it. Then XRC
  // is tried.
  std::string no_xrc = cat(found.device, " does not support XRC");
  if ((device.device_cap_flags & IBV_DEVICE_XRC) != 0) {
    no_xrc = try_xrc(symbols, context, *pd, found.reason);
  }
  if (no_xrc.empty()) {
    found.mode = Mode::xrc;
    found.open_qp = found.reason.empty();
  } else {
    const std::string no_rc = try_rc(symbols, context, *pd);
    found.mode = no_rc.empty() ? Mode::rc : Mode::none;
    found.reason = no_rc.empty() ? no_xrc : cat(no_xrc, "; ", no_rc);
  }
  if (found.mode != Mode::none) find_executor(symbols, found);
  return found;
}

std::string Capability::describe() const {
  const std::string name = cat(device, " of ", library, ": ");
  if (mode == Mode::none) return cat(name, "not viable: ", reason);
  const char* const tasks_by = executor == Executor::engine   ? "tasks executed by its engine"
                               : executor == Executor::thread ? "tasks executed by a thread"
                                                              : "no execution of tasks";
  return cat(name,
             mode == Mode::rc ? cat("RC with a shared receive queue (", reason, ")")
             : open_qp        ? std::string("XRC with ibv_open_qp")
                              : cat("XRC without ibv_open_qp (", reason, ")"),
             ", ", ports.size(), ports.size() == 1 ? " port, " : " ports, ", tasks_by);
}

}  // namespace scela::channel::verbs
