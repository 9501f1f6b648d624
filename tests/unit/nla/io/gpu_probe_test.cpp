// GPUs of a machine by the files that its kernel would show, and free ports of this one.
#include "nla/io/gpu_probe.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "nla/io/address.h"
#include "nla/io/free_port.h"
#include "tests/support/temporary_home.h"

namespace gpu_probe_test {

using namespace scela;
using namespace scela::nla;

TEST_CASE("GPUs are counted by the files of each vendor's driver") {
  const test::TemporaryHome directory;
  for (const char* name : {"nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "null"})
    directory.write(cat("dev/", name), "");
  const std::string kfd = "sys/class/kfd/kfd/topology/nodes/";
  directory.write(kfd + "0/gpu_id", "0\n");
  directory.write(kfd + "1/gpu_id", "51201\n");
  directory.write(kfd + "2/gpu_id", "9\n");
  directory.write("sys/class/drm/renderD128/device/vendor", "0x8086\n");
  directory.write("sys/class/drm/renderD129/device/vendor", "0x10de\n");
  directory.write("sys/class/drm/card0/device/vendor", "0x8086\n");
  const GpuFacts facts = gpus_of_machine([](std::string_view) { return ""; }, directory.path());
  CHECK(facts.kinds[0].found == 3);
  CHECK(facts.kinds[1].found == 2);
  CHECK(facts.kinds[2].found == 1);
  CHECK_FALSE(facts.kinds[0].list);
}

TEST_CASE("a machine without GPUs has none, and the variables are taken as they are") {
  const test::TemporaryHome directory;
  const auto value_of = [](std::string_view name) {
    return std::string(name == "ROCR_VISIBLE_DEVICES" ? "1,3" : "");
  };
  const GpuFacts facts = gpus_of_machine(value_of, directory.path());
  for (const GpuFacts::OfKind& kind : facts.kinds)
    CHECK(kind.found == 0);
  CHECK(facts.kinds[1].list == "1,3");
  CHECK_FALSE(facts.kinds[0].list);
}

TEST_CASE("a port is free, and one that is taken is passed over") {
  const std::uint16_t first = free_port("job-1");
  REQUIRE(first != 0);
  auto address = parse_address("127.0.0.1", first);
  const Fd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(taken.get(), address->get(), address->size) == 0);
  REQUIRE(::listen(taken.get(), 1) == 0);
  const std::uint16_t second = free_port("job-1");
  CHECK(second != 0);
  CHECK(second != first);
}

}  // namespace gpu_probe_test
