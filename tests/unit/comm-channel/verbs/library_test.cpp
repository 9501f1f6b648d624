#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "comm-channel/verbs/factory.h"

namespace library_test {

using namespace scela::channel::verbs;

TEST_CASE("the system's libibverbs is loaded by the versions that programs of today get") {
  const auto symbols = load_symbols(kSystemLibrary);
  REQUIRE(symbols);
  CHECK_FALSE((*symbols)->is_adapter);
  CHECK((*symbols)->tasks == nullptr);
  void* const handle = dlopen(kSystemLibrary, RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(handle != nullptr);
  // Each of these functions has an older version too, with other structures.
  CHECK(reinterpret_cast<void*>((*symbols)->ibv_create_qp) ==
        dlvsym(handle, "ibv_create_qp", "IBVERBS_1.1"));
  CHECK(reinterpret_cast<void*>((*symbols)->ibv_open_device) ==
        dlvsym(handle, "ibv_open_device", "IBVERBS_1.1"));
  CHECK(reinterpret_cast<void*>((*symbols)->ibv_get_device_list) !=
        dlvsym(handle, "ibv_get_device_list", "IBVERBS_1.0"));
  dlclose(handle);
  CHECK(load_symbols(kSystemLibrary).value() == *symbols);
}

TEST_CASE("a library that is not there, or is another, is an error that names it") {
  const auto absent = choose_library("/nonexistent/libibverbs.so.1");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().what == "load /nonexistent/libibverbs.so.1");
  CHECK_FALSE(absent.error().hint.empty());
  const auto other = load_symbols("libc.so.6");
  REQUIRE_FALSE(other);
  CHECK(other.error().why.find("it has no ibv_") == 0);
  const auto word = choose_library("hardware");
  REQUIRE_FALSE(word);
  CHECK(word.error().why == "'hardware' is none of system, scela, auto, nor a path");
}

TEST_CASE("where no library has a device, it is said once that none is viable") {
  const auto any = choose_library("auto");
  if (any) {
    CHECK_FALSE(std::filesystem::is_empty("/sys/class/infiniband"));
    return;
  }
  CHECK_THAT(any.error().why, Catch::StartsWith("not viable: "));
  CHECK(any.error().why.find("not viable", 1) == std::string::npos);
}

TEST_CASE("a library without the device is not viable, and says why") {
  const auto symbols = load_symbols(kSystemLibrary);
  REQUIRE(symbols);
  const auto device = open_device_of(**symbols, "no_such_device0");
  REQUIRE_FALSE(device);
  CHECK(device.error().why == "not viable: libibverbs.so.1 shows no device 'no_such_device0'");
}

}  // namespace library_test
