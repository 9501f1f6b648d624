// Tests how the environment sets the channel's options.
#include "comm-channel/api/environment_options.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

namespace scela::channel::environment_options_test {
namespace {

Result<ChannelOptions> with(std::vector<const char*> environment, ChannelOptions options = {}) {
  return overruled(std::move(options), environment);
}

TEST_CASE("channel settings: the environment overrules what the program says, and nothing else") {
  ChannelOptions said;
  said.eager.shm = 100;
  said.eager.verbs = 200;
  const auto options =
      with({"HOME=/", "SCELA_CHANNEL_EAGER_SHM=16K", "SCELA_CHANNEL_THREADS=multiple",
            "SCELA_CHANNEL_RENDEZVOUS=read", "SCELA_CHANNEL_TRANSPORT=verbs",
            "SCELA_CHANNEL_VERBS=scela", "SCELA_CHANNEL_DEVICE=mlx5_0",
            "SCELA_CHANNEL_REGISTRATION_CACHE=0", "SCELA_CHANNEL_UNEXPECTED_BYTES=1M",
            "SCELA_CHANNEL_FRAGMENTED_SHM=64K", "SCELA_CHANNEL_OFFLOAD=0",
            "SCELA_CHANNEL_OFFLOAD_MIN_BYTES=64K", "SCELA_CHANNEL_OFFLOAD_MIN_USES=7",
            "SCELA_CHANNEL_OFFLOAD_MAX_CHANNELS=4", "SCELA_CHANNEL_PORTS=2", "SCELA_NODE=3"},
           said);
  REQUIRE(options);
  CHECK(options->eager.shm == 16384);
  CHECK(options->fragmented_shm == 65536);
  CHECK(options->eager.verbs == 200);
  CHECK(options->unexpected_bytes == 1 << 20);
  CHECK(options->threads == Threads::multiple);
  CHECK(options->rendezvous == Rendezvous::read);
  CHECK(options->transport == "verbs");
  CHECK_FALSE(options->offload.enabled);
  CHECK(options->offload.min_bytes == 65536);
  CHECK(options->offload.min_uses == 7);
  CHECK(options->offload.max_channels == 4);
  CHECK(options->ports == 2);
}

TEST_CASE("channel settings: an unknown name or value is an error that lists the valid ones") {
  const auto why = [](const char* word) {
    const auto options = with({word});
    REQUIRE_FALSE(options);
    return options.error().text();
  };
  CHECK_THAT(why("SCELA_CHANNEL_EAGER=1"), Catch::Contains("SCELA_CHANNEL_EAGER_SHM"));
  CHECK_THAT(why("SCELA_CHANNEL_EAGER_SHM"), Catch::Contains("bytes"));
  CHECK_THAT(why("SCELA_CHANNEL_EAGER_SHM=-1"), Catch::Contains("'-1'"));
  CHECK_THAT(why("SCELA_CHANNEL_EAGER_SHM=9999999999999M"), Catch::Contains("invalid value"));
  CHECK_THAT(why("SCELA_CHANNEL_FRAGMENTED_SHM=2M"), Catch::Contains("up to 1M"));
  CHECK_THAT(why("SCELA_CHANNEL_EAGER_VERBS=1000000M"), Catch::Contains("up to 1M"));
  ChannelOptions said;
  said.eager.verbs = kMaxEagerVerbs + 1;
  CHECK_FALSE(with({"HOME=/"}, said));
  CHECK_THAT(why("SCELA_CHANNEL_THREADS=two"), Catch::Contains("single, multiple"));
  CHECK_THAT(why("SCELA_CHANNEL_RENDEZVOUS=3"), Catch::Contains("offloaded"));
  CHECK_THAT(why("SCELA_CHANNEL_OFFLOAD=yes"), Catch::Contains("0, 1"));
  CHECK_THAT(why("SCELA_CHANNEL_OFFLOAD_MAX_CHANNELS=1025"), Catch::Contains("up to 1024"));
  CHECK_THAT(why("SCELA_CHANNEL_TRANSPORT=tcp"), Catch::Contains("shm, verbs"));
}

}  // namespace
TEST_CASE("channel settings: an option of the program that cannot be is an error") {
  const auto is_refused = [](const ChannelOptions& options) {
    const auto chosen = overruled(options, {});
    return !chosen && chosen.error().text().find("ChannelOptions has") != std::string::npos;
  };
  ChannelOptions options;
  CHECK(!is_refused(options));
  options.transport = "bogus";
  CHECK(is_refused(options));
  options = {};
  options.threads = static_cast<Threads>(9);
  CHECK(is_refused(options));
  options = {};
  options.rendezvous = static_cast<Rendezvous>(77);
  CHECK(is_refused(options));
  options = {};
  options.offload.max_channels = 1025;
  CHECK(is_refused(options));
}

}  // namespace scela::channel::environment_options_test
