#include "hca/library/link/known_device.h"

#include <atomic>

namespace scela::hca::library {

namespace {
std::atomic<std::uint64_t> remembered_guid{0};
}  // namespace

void remember(const Device& device) {
  remembered_guid.store(device.guid);
}

std::uint64_t known_guid() {
  return remembered_guid.load();
}

}  // namespace scela::hca::library
