// The arithmetic of GPUs, without any GPU.
#include "nla/core/job/gpu_devices.h"

#include <catch2/catch.hpp>

namespace gpu_devices_test {

using namespace scela;
using namespace scela::nla;

namespace {

std::string devices(const GpuFacts& facts, std::uint64_t local_rank, std::uint32_t each,
                    GpuShare share = {}) {
  const auto given = gpus_of_rank(facts, share, local_rank, each);
  return given ? *given : given.error().text();
}

GpuFacts cuda(std::optional<std::string> list, std::uint32_t found) {
  GpuFacts facts;
  facts.kinds[0] = {std::move(list), found};
  return facts;
}

}  // namespace

TEST_CASE("each rank gets the next GPUs of its node") {
  CHECK(devices(cuda({}, 8), 0, 2) == "CUDA_VISIBLE_DEVICES=0,1");
  CHECK(devices(cuda({}, 8), 3, 2) == "CUDA_VISIBLE_DEVICES=6,7");
  CHECK(devices(cuda({}, 8), 1, 3) == "CUDA_VISIBLE_DEVICES=3,4,5");
  CHECK(devices(cuda({}, 8), 0, 8) == "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7");
}

TEST_CASE("a list that the node has is subdivided") {
  CHECK(devices(cuda("4,6,5,7", 8), 0, 2) == "CUDA_VISIBLE_DEVICES=4,6");
  CHECK(devices(cuda("4,6,5,7", 8), 1, 2) == "CUDA_VISIBLE_DEVICES=5,7");
  CHECK(devices(cuda("GPU-a, MIG-b", 0), 1, 1) == "CUDA_VISIBLE_DEVICES=MIG-b");
  // CUDA ignores what follows an entry that is no device.
  CHECK(devices(cuda("0,-1,2", 8), 1, 1).find("the node has 1 (CUDA_VISIBLE_DEVICES=0,-1,2)") !=
        std::string::npos);
}

TEST_CASE("more GPUs than there are is an error that has the numbers") {
  CHECK(devices(cuda({}, 8), 4, 2) ==
        "give each rank 2 GPUs: rank 4 of the node would need 10 GPUs, the node has 8 (start fewer "
        "ranks on each node (--ppn), or lower --gpus-per-rank)");
  CHECK(devices(cuda("2,3", 8), 1, 2).find("the node has 2 (CUDA_VISIBLE_DEVICES=2,3)") !=
        std::string::npos);
  CHECK(devices({}, 0, 1).find("the node has 0") != std::string::npos);
  CHECK(devices(cuda({}, 8), UINT64_MAX, 1024).find("the node has 8") != std::string::npos);
}

TEST_CASE("the kind of GPU is the one that the machine has, and only its variable is set") {
  GpuFacts amd;
  amd.kinds[1].found = 4;
  CHECK(devices(amd, 1, 2) == "ROCR_VISIBLE_DEVICES=2,3");
  amd.kinds[0].list = "0,1";  // HIP reads it after ROCR_VISIBLE_DEVICES
  CHECK(devices(amd, 1, 2) == "ROCR_VISIBLE_DEVICES=2,3");
  GpuFacts intel;
  intel.kinds[2] = {"0.0,0.1,1.0,1.1", 2};
  CHECK(devices(intel, 3, 1) == "ZE_AFFINITY_MASK=1.1");
}

TEST_CASE("simulated nodes divide the GPUs of their machine") {
  CHECK(devices(cuda({}, 8), 0, 2, {0, 2}) == "CUDA_VISIBLE_DEVICES=0,1");
  CHECK(devices(cuda({}, 8), 1, 2, {1, 2}) == "CUDA_VISIBLE_DEVICES=6,7");
  CHECK(devices(cuda({}, 8), 2, 2, {0, 2}).find("has 4, its share of the 8 of the machine") !=
        std::string::npos);
}

}  // namespace gpu_devices_test
