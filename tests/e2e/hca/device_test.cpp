// The results of programs that look for more than one port, or for a vendor's device.
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/e2e/hca/verbs_program.h"

namespace device_test {

using namespace scela;
using namespace scela::test;

namespace {

// Returns a function of another library, or null.
template <class Function>
Function function_of(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

}  // namespace

TEST_CASE(
    "hca device: two ports carry messages beside each other, each with addresses of its own") {
  const Place place;
  Verbs verbs;
  ibv_device_attr attributes{};
  REQUIRE(ibv_query_device(verbs.context, &attributes) == 0);
  REQUIRE(attributes.phys_port_cnt == 2);
  char words[4][8] = {"left", "right", "", ""};
  ibv_mr* const mr = verbs.mr(words, sizeof words);
  ibv_cq* const sent = verbs.cq();
  ibv_cq* const came = verbs.cq();
  ibv_port_attr ports[2] = {};
  ibv_gid gids[2] = {};
  ibv_qp* outs[2];
  for (std::uint8_t i = 0; i < 2; ++i) {
    const auto number = static_cast<std::uint8_t>(i + 1);
    REQUIRE(ibv_query_port(verbs.context, number, &ports[i]) == 0);
    CHECK(ports[i].state == IBV_PORT_ACTIVE);
    REQUIRE(ibv_query_gid(verbs.context, number, 0, &gids[i]) == 0);
    outs[i] = verbs.rc(sent, sent);
    ibv_qp* const in = verbs.rc(came, came);
    verbs.connect(outs[i], in->qp_num, 7, number);
    verbs.connect(in, outs[i]->qp_num, 7, number);
    post_recv(in, {reinterpret_cast<std::uintptr_t>(words[2 + i]), 8, mr->lkey});
  }
  CHECK(ports[0].lid != ports[1].lid);
  CHECK(std::memcmp(&gids[0], &gids[1], sizeof gids[0]) != 0);
  ibv_port_attr none{};
  CHECK(ibv_query_port(verbs.context, 3, &none) == EINVAL);
  for (std::size_t i = 0; i < 2; ++i)
    post_send(outs[i], {reinterpret_cast<std::uintptr_t>(words[i]), 8, mr->lkey},
              IBV_SEND_SIGNALED);
  for (int i = 0; i < 2; ++i) {
    CHECK(next(sent).status == IBV_WC_SUCCESS);
    CHECK(next(came).status == IBV_WC_SUCCESS);
  }
  CHECK(std::string(words[2]) == "left");
  CHECK(std::string(words[3]) == "right");
}

// Vendors' libraries read pointers of their own behind the public structures (perftest asks libmlx5
// and libefa).
TEST_CASE("hca device: vendors' libraries do not take it for one of their devices") {
  const Place place;
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  REQUIRE(list != nullptr);
  REQUIRE(count == 1);
  const auto* const behind = reinterpret_cast<const unsigned char*>(list[0]) + sizeof(ibv_device);
  CHECK(std::all_of(behind, behind + 512, [](unsigned char byte) { return byte == 0; }));
  const Verbs verbs;
  void* const mlx5 = ::dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(mlx5 != nullptr);
  const auto is_mlx5 = function_of<bool (*)(ibv_device*)>(mlx5, "mlx5dv_is_supported");
  const auto ask_mlx5 = function_of<int (*)(ibv_context*, void*)>(mlx5, "mlx5dv_query_device");
  REQUIRE(is_mlx5 != nullptr);
  REQUIRE(ask_mlx5 != nullptr);
  CHECK_FALSE(is_mlx5(list[0]));
  char facts[4096] = {};
  CHECK(ask_mlx5(verbs.context, facts) == EOPNOTSUPP);
  void* const efa = ::dlopen("libefa.so.1", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(efa != nullptr);
  const auto ask_efa =
      function_of<int (*)(ibv_context*, void*, std::uint32_t)>(efa, "efadv_query_device");
  REQUIRE(ask_efa != nullptr);
  CHECK(ask_efa(verbs.context, facts, 64) == EOPNOTSUPP);
  ibv_free_device_list(list);
}

}  // namespace device_test
