#include "hca/library/device/device.h"

#include <endian.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "common/os/syscall.h"
#include "hca/library/link/known_device.h"
#include "hca/library/objects/context.h"
#include "hca/library/verbs/guarded.h"

namespace scela::hca::library {

namespace {

// Vendors' libraries look for their own pointers behind the public structure. They find null there.
struct Padded {
  ibv_device device{};
  unsigned char zeros[1024] = {};
};

std::mutex device_mutex;
Padded the_device;

ibv_device* device_entry() {
  const std::lock_guard lock(device_mutex);
  ibv_device& device = the_device.device;
  if (device.name[0] == '\0') {
    device.node_type = IBV_NODE_CA;
    device.transport_type = IBV_TRANSPORT_IB;
    std::snprintf(device.name, sizeof(device.name), "%s", kDeviceName);
    std::snprintf(device.dev_name, sizeof(device.dev_name), "%s", kDeviceName);
  }
  return &device;
}

constexpr int kLinkUp = 5;     // physical state
constexpr int kWidth4x = 2;    // as ibv_devinfo prints them
constexpr int kSpeedEdr = 32;  // 25 Gbit/s a lane

ibv_port_attr port_attributes(const Device& device, std::uint8_t port) {
  ibv_port_attr attributes{};
  attributes.state = IBV_PORT_ACTIVE;
  attributes.max_mtu = IBV_MTU_4096;
  attributes.active_mtu = IBV_MTU_4096;
  attributes.gid_tbl_len = static_cast<int>(limit::kGids);
  attributes.port_cap_flags = IBV_PORT_SYS_IMAGE_GUID_SUP;
  attributes.max_msg_sz = limit::kMessageBytes;
  attributes.pkey_tbl_len = limit::kPkeys;
  attributes.lid = device.lids[port - 1];
  attributes.sm_lid = 1;
  attributes.max_vl_num = 1;
  attributes.active_width = kWidth4x;
  attributes.active_speed = kSpeedEdr;
  attributes.phys_state = kLinkUp;
  attributes.link_layer = IBV_LINK_LAYER_INFINIBAND;
  return attributes;
}

bool is_port(std::uint32_t port) {
  return port >= 1 && port <= limit::kPorts;
}

ibv_device_attr device_attributes(const Device& device) {
  ibv_device_attr attributes{};
  std::snprintf(attributes.fw_ver, sizeof(attributes.fw_ver), "%s", SCELA_VERSION);
  attributes.node_guid = htobe64(device.guid);
  attributes.sys_image_guid = htobe64(device.guid);
  attributes.max_mr_size = limit::kMrBytes;
  attributes.page_size_cap = 0xfffffffffffff000ULL;
  attributes.max_qp = limit::kQps;
  attributes.max_qp_wr = limit::kQpRequests;
  attributes.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
                                IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN;
  if ((device.flags & device_flag::kNoXrc) == 0) attributes.device_cap_flags |= IBV_DEVICE_XRC;
  attributes.max_sge = limit::kSges;
  attributes.max_sge_rd = limit::kSges;
  attributes.max_cq = limit::kCqs;
  attributes.max_cqe = limit::kCqEntries;
  attributes.max_mr = limit::kMrs;
  attributes.max_pd = limit::kPds;
  attributes.max_qp_rd_atom = limit::kRdAtomic;
  attributes.max_res_rd_atom = limit::kRdAtomic * limit::kQps;
  attributes.max_qp_init_rd_atom = limit::kRdAtomic;
  // These are atomic among verbs only: the engine executes them one after the other, as an adapter
  // does.
  attributes.atomic_cap = IBV_ATOMIC_HCA;
  attributes.max_mcast_grp = limit::kMcastGroups;
  attributes.max_mcast_qp_attach = 1024;
  attributes.max_total_mcast_qp_attach = 8192 * 1024;
  attributes.max_ah = 1 << 20;
  attributes.max_srq = limit::kSrqs;
  attributes.max_srq_wr = limit::kSrqRequests;
  attributes.max_srq_sge = limit::kSges;
  attributes.max_pkeys = limit::kPkeys;
  attributes.local_ca_ack_delay = 15;
  attributes.phys_port_cnt = limit::kPorts;
  return attributes;
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t bytes) {
  if (!is_port(port)) return EINVAL;
  const ibv_port_attr all = port_attributes(context_of(context).link.device(), port);
  std::memset(attributes, 0, bytes);
  std::memcpy(attributes, &all, std::min(bytes, sizeof(all)));
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t bytes) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (bytes < sizeof(attributes->orig_attr)) return EINVAL;
  ibv_device_attr_ex all{};
  all.orig_attr = device_attributes(context_of(context).link.device());
  all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
  all.phys_port_cnt_ex = limit::kPorts;
  std::memset(attributes, 0, bytes);
  std::memcpy(attributes, &all, std::min(bytes, sizeof(all)));
  return 0;
}

}  // namespace scela::hca::library

using namespace scela::hca;
using namespace scela::hca::library;

extern "C" {

ibv_device** ibv_get_device_list(int* num_devices) {
  auto** const list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  if (num_devices != nullptr) *num_devices = list == nullptr ? 0 : 1;
  if (list == nullptr) return no<ibv_device*>(ENOMEM);
  list[0] = device_entry();
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  std::free(list);
}

const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

int ibv_get_device_index(ibv_device*) {
  return -1;  // the kernel does not know it
}

__be64 ibv_get_device_guid(ibv_device* device) {
  if (const std::uint64_t guid = known_guid(); guid != 0) return htobe64(guid);
  // Only the engine knows the GUID.
  ibv_context* const context = ibv_open_device(device);
  if (context == nullptr) return 0;
  const std::uint64_t guid = context_of(context).link.device().guid;
  ibv_close_device(context);
  return htobe64(guid);
}

int ibv_query_device(ibv_context* context, ibv_device_attr* device_attr) {
  *device_attr = device_attributes(context_of(context).link.device());
  return 0;
}

int ibv_query_port(ibv_context* context, std::uint8_t port_num, _compat_ibv_port_attr* port_attr) {
  // Programs built before port_cap_flags2 existed have no room for it.
  return query_port(context, port_num, reinterpret_cast<ibv_port_attr*>(port_attr),
                    offsetof(ibv_port_attr, port_cap_flags2));
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port_num, std::uint32_t gid_index,
                      ibv_gid_entry* entry, std::uint32_t flags, std::size_t entry_size) {
  if (flags != 0 || entry_size < sizeof(ibv_gid_entry)) return EINVAL;
  if (!is_port(port_num) || gid_index >= limit::kGids) return EINVAL;
  *entry = {};
  std::memcpy(entry->gid.raw, context_of(context).link.device().gids[port_num - 1].bytes,
              sizeof(entry->gid.raw));
  entry->gid_index = gid_index;
  entry->port_num = port_num;
  entry->gid_type = IBV_GID_TYPE_IB;
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries,
                             std::uint32_t flags, std::size_t entry_size) {
  if (flags != 0 || entry_size < sizeof(ibv_gid_entry)) return -EINVAL;
  ssize_t filled = 0;
  for (std::uint32_t port = 1; port <= limit::kPorts; ++port) {
    if (static_cast<std::size_t>(filled) == max_entries) return -EINVAL;
    auto* const at =
        reinterpret_cast<std::byte*>(entries) + static_cast<std::size_t>(filled) * entry_size;
    _ibv_query_gid_ex(context, port, 0, reinterpret_cast<ibv_gid_entry*>(at), 0, entry_size);
    ++filled;
  }
  return filled;
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  ibv_gid_entry entry{};
  if (index < 0) return -1;
  const int error =
      _ibv_query_gid_ex(context, port, static_cast<std::uint32_t>(index), &entry, 0, sizeof(entry));
  if (error != 0) {
    errno = error;
    return -1;
  }
  *gid = entry.gid;
  return 0;
}

int ibv_query_gid_type(ibv_context*, std::uint8_t port, unsigned index, int* type) {
  if (!is_port(port) || index >= limit::kGids) {
    errno = EINVAL;
    return -1;
  }
  *type = IBV_GID_TYPE_IB;
  return 0;
}

int ibv_query_pkey(ibv_context*, std::uint8_t port, int index, __be16* key) {
  if (!is_port(port) || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *key = 0xffff;  // the default partition
  return 0;
}

int ibv_get_pkey_index(ibv_context*, std::uint8_t port, __be16 key) {
  if (is_port(port) && key == 0xffff) return 0;
  errno = EINVAL;
  return -1;
}

const char* ibv_get_sysfs_path() {
  return "/sys";
}

int ibv_read_sysfs_file(const char* directory, const char* file, char* text, std::size_t bytes) {
  // The device has no sysfs directory.
  if (directory[0] == '\0' || bytes == 0) {
    errno = ENOENT;
    return -1;
  }
  return guarded([&]() -> int {
    const scela::Fd fd(::open((std::string(directory) + "/" + file).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return -1;
    const ssize_t got = scela::retry([&] { return ::read(fd.get(), text, bytes); });
    if (got < 0) return -1;
    auto length = static_cast<std::size_t>(got);
    if (length > 0 && text[length - 1] == '\n') {
      text[--length] = '\0';
    } else if (length < bytes) {
      text[length] = '\0';
    }
    return static_cast<int>(length);
  });
}

void ibv_register_driver(const char*, void*) {}

}  // extern "C"
