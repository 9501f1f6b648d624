#include "tests/verbs/semantics/semantics_device.h"

#include <memory>

#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

struct ListFreer {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};

bool is_usable(const ibv_gid& gid) {
  return gid.global.interface_id != 0 && !(gid.raw[0] == 0xfe && gid.raw[1] == 0x80);
}

void choose_gid(Device& chosen) {
  chosen.gid_index = settings().gid_index;
  for (int i = 0; chosen.gid_index < 0 && i < chosen.port.gid_tbl_len; ++i) {
    ibv_gid gid{};
    if (ibv_query_gid(chosen.context.get(), kPort, i, &gid) == 0 && is_usable(gid)) {
      chosen.gid_index = i;
    }
  }
  if (chosen.gid_index < 0) chosen.gid_index = 0;
  const int error = ibv_query_gid(chosen.context.get(), kPort, chosen.gid_index, &chosen.gid);
  expect(error == 0, "ibv_query_gid of index " + std::to_string(chosen.gid_index) + " failed");
}

}  // namespace

Settings& settings() {
  static Settings chosen;
  return chosen;
}

Device open_device() {
  int count = 0;
  const std::unique_ptr<ibv_device*, ListFreer> list(ibv_get_device_list(&count));
  expect(list != nullptr, "ibv_get_device_list failed");
  Device opened;
  for (int i = 0; i < count && !opened.context; ++i) {
    ibv_device* candidate = list.get()[i];
    if (settings().device.empty() || settings().device == ibv_get_device_name(candidate)) {
      opened.context.reset(ibv_open_device(candidate));
      expect(opened.context != nullptr, "ibv_open_device failed");
    }
  }
  expect(opened.context != nullptr, "there is no device " + settings().device);
  expect_works("ibv_query_device", ibv_query_device(opened.context.get(), &opened.attr));
  expect_works("ibv_query_port", ibv_query_port(opened.context.get(), kPort, &opened.port));
  choose_gid(opened);
  opened.global = opened.port.link_layer == IBV_LINK_LAYER_ETHERNET || opened.port.lid == 0;
  return opened;
}

const Device& device() {
  static const Device opened = open_device();
  return opened;
}

bool is_able(unsigned flag) {
  return (device().attr.device_cap_flags & flag) != 0;
}

void need_srq() {
  if (device().attr.max_srq == 0) skip("device lacks shared receive queues");
}

void need_xrc() {
  if (!is_able(IBV_DEVICE_XRC)) skip("device lacks XRC");
}

}  // namespace semantics
