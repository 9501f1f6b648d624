#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "comm-channel/verbs/factory.h"
#include "common/os/fd.h"
#include "hca/core/wire/engine_messages.h"
#include "tests/e2e/hca/verbs_program.h"

namespace capability_test {

using namespace scela::channel::verbs;
using scela::test::Place;

namespace {

struct Set {
  Set(const char* variable, const char* value) : name(variable) { ::setenv(name, value, 1); }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;
  ~Set() { ::unsetenv(name); }
  const char* name;
};

Device opened() {
  auto device = open_device({.library = "scela", .device = {}});
  if (!device) FAIL(device.error().text());
  return std::move(*device);
}

ibv_xrcd* refuse_xrcd(ibv_context*, ibv_xrcd_init_attr*) {
  errno = EOPNOTSUPP;
  return nullptr;
}
ibv_srq* refuse_srq(ibv_pd*, ibv_srq_init_attr*) {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace

TEST_CASE("channel verbs: the adapter has every capability, and says so") {
  const Place place;
  const Device device = opened();
  const Capability& can = device.capability;
  CHECK(can.mode == Mode::xrc);
  CHECK(can.open_qp);
  CHECK(can.executor == Executor::engine);
  CHECK(can.ports.size() == 2);
  CHECK(can.ports[0].by_gid);
  CHECK(can.ports[0].lid != can.ports[1].lid);
  CHECK(can.limits.queue_pairs > 0);
  CHECK(can.limits.shared_requests > 0);
  CHECK(can.limits.reads > 0);
  CHECK(can.describe() ==
        "scela_hca0 of libscela-ibverbs.so.1: XRC with ibv_open_qp, 2 ports, tasks executed by its "
        "engine");
}

TEST_CASE("channel verbs: an adapter without ibv_open_qp is seen to be one") {
  const Place place;
  const Set off("SCELA_HCA_NO_OPEN_QP", "1");
  const Device device = opened();
  CHECK(device.capability.mode == Mode::xrc);
  CHECK_FALSE(device.capability.open_qp);
}

TEST_CASE("channel verbs: an adapter without XRC is used by RC, and the reason is said") {
  const Place place;
  const Set off("SCELA_HCA_NO_XRC", "1");
  const Device device = opened();
  CHECK(device.capability.mode == Mode::rc);
  CHECK_FALSE(device.capability.open_qp);
  CHECK(device.capability.describe() ==
        "scela_hca0 of libscela-ibverbs.so.1: RC with a shared receive queue (scela_hca0 does not "
        "support XRC), 2 ports, tasks executed by its engine");
  Symbols refusing = *device.symbols;
  refusing.ibv_create_srq = refuse_srq;
  const auto neither = open_device_of(refusing, "");
  REQUIRE_FALSE(neither);
  CHECK(neither.error().why.find("not viable: scela_hca0 does not support XRC; create a shared "
                                 "receive queue on scela_hca0: ") == 0);
  CHECK_FALSE(neither.error().hint.empty());
}

TEST_CASE("channel verbs: tasks are executed by a thread if the program asks for it") {
  const Place place;
  const Set thread("SCELA_TASKS", "thread");
  CHECK(opened().capability.executor == Executor::thread);
}

TEST_CASE("channel verbs: XRC does not count if the device announces it and refuses it") {
  const Place place;
  const Device device = opened();
  verbs_get_ctx(device.context.get())->open_xrcd = refuse_xrcd;
  const Capability can = probe(*device.symbols, device.context);
  CHECK(can.mode == Mode::rc);
  CHECK_FALSE(can.open_qp);
  CHECK(can.reason.find("open an XRC domain on scela_hca0: ") == 0);
}

TEST_CASE("channel verbs: a device without RC and XRC is not viable, and both reasons are said") {
  const Place place;
  const Device device = opened();
  verbs_get_ctx(device.context.get())->open_xrcd = refuse_xrcd;
  Symbols refusing = *device.symbols;
  refusing.ibv_create_srq = refuse_srq;
  const Capability can = probe(refusing, device.context);
  CHECK(can.mode == Mode::none);
  CHECK(can.reason.find("open an XRC domain on scela_hca0: ") == 0);
  CHECK(can.reason.find("; create a shared receive queue on scela_hca0: ") != std::string::npos);
  CHECK(can.describe().find("scela_hca0 of libscela-ibverbs.so.1: not viable: ") == 0);
}

TEST_CASE("channel verbs: an adapter is not viable if its engine cannot be started") {
  const Place place;
  const Set engine("SCELA_HCA", "/nonexistent/scela-hca");
  const auto device = open_device({.library = "scela", .device = {}});
  REQUIRE_FALSE(device);
  CHECK(device.error().why.find("not viable: open scela_hca0: ") == 0);
  CHECK_FALSE(device.error().hint.empty());
}

TEST_CASE("channel verbs: an engine of another version is not viable, and said to be one") {
  const Place place;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (place.path + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  const scela::Fd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listening.get(), 8) == 0);
  std::thread engine([&] {
    // The fake engine refuses each client, as an engine refuses an ask of another version.
    for (int fd; (fd = ::accept(listening.get(), nullptr, nullptr)) >= 0;) {
      const scela::Fd connection(fd);
      scela::hca::Ask ask;
      if (::recv(fd, &ask, sizeof ask, 0) <= 0) continue;
      scela::hca::Answer answer;
      answer.error = EPROTO;
      static_cast<void>(::send(fd, &answer, sizeof answer, MSG_NOSIGNAL));
    }
  });
  const auto device = open_device({.library = "scela", .device = {}});
  ::shutdown(listening.get(), SHUT_RDWR);
  engine.join();
  REQUIRE_FALSE(device);
  CHECK(device.error().why.find("not viable: open scela_hca0: ") == 0);
  CHECK(device.error().why.find("is of another version than libscela-ibverbs.so.1") !=
        std::string::npos);
}

TEST_CASE("channel verbs: where the system has no device, the adapter is taken") {
  const bool has_device = std::filesystem::exists("/sys/class/infiniband") &&
                          !std::filesystem::is_empty("/sys/class/infiniband");
  const Place place;
  const auto system = open_device({.library = "system", .device = {}});
  if (system)
    CHECK(has_device);
  else if (!has_device)
    CHECK(system.error().why == "not viable: libibverbs.so.1 shows no device");
  const auto device = open_device({});
  REQUIRE(device);
  CHECK(device->capability.library == (system ? "libibverbs.so.1" : "libscela-ibverbs.so.1"));
}

}  // namespace capability_test
