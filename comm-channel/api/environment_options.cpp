#include "comm-channel/api/environment_options.h"

#include <algorithm>
#include <charconv>

#include "common/core/text.h"

namespace scela::channel {

namespace {

constexpr std::string_view kPrefix = "SCELA_CHANNEL_";

struct Setting {
  std::string_view name;
  std::string_view values;  // for people
  bool (*take)(ChannelOptions& options, std::string_view value);
};

// Accepts "64", "64K" and "4M".
bool take_size(std::size_t& member, std::string_view value,
               std::size_t most = std::size_t{1} << 40) {
  int shift = 0;
  if (value.ends_with('K')) shift = 10;
  if (value.ends_with('M')) shift = 20;
  if (shift != 0) value.remove_suffix(1);
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
  if (error != std::errc() || end != value.data() + value.size() || size > most >> shift)
    return false;
  member = size << shift;
  return true;
}

bool take_offload(ChannelOptions& options, std::string_view value) {
  options.offload.enabled = value == "1";
  return value == "0" || value == "1";
}

// With more channels, the adapter's objects would run out.
constexpr std::size_t kMaxChannels = 1024;

bool take_threads(ChannelOptions& options, std::string_view value) {
  if (value == "single")
    options.threads = Threads::single;
  else if (value == "multiple")
    options.threads = Threads::multiple;
  else
    return false;
  return true;
}

bool take_rendezvous(ChannelOptions& options, std::string_view value) {
  constexpr std::string_view kNames[] = {"by_choice", "write", "read", "offloaded"};
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (value == kNames[i]) {
      options.rendezvous = static_cast<Rendezvous>(i);
      return true;
    }
  return false;
}

bool take_transport(ChannelOptions& options, std::string_view value) {
  if (value != "shm" && value != "verbs" && !value.empty()) return false;
  options.transport = value;
  return true;
}

// A setting with a number as its value: `member` is a member of ChannelOptions.
#define SCELA_SIZE(name, values, member, ...)                             \
  {                                                                       \
    name, values, [](ChannelOptions& options, std::string_view value) {   \
      return take_size(options.member, value __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                     \
  }
constexpr Setting kSettings[] = {
    {"THREADS", "single, multiple", take_threads},
    {"RENDEZVOUS", "by_choice, write, read, offloaded", take_rendezvous},
    SCELA_SIZE("EAGER_SHM", "bytes, also 4K", eager.shm),
    // Each receive buffer of the adapter has this length, and there are hundreds.
    SCELA_SIZE("EAGER_VERBS", "bytes up to 1M", eager.verbs, kMaxEagerVerbs),
    SCELA_SIZE("FRAGMENTED_SHM", "bytes up to 1M", fragmented_shm, kMaxFragmentedShm),
    {"OFFLOAD", "0, 1", take_offload},
    SCELA_SIZE("OFFLOAD_MIN_BYTES", "bytes, also 64K", offload.min_bytes),
    SCELA_SIZE("OFFLOAD_MIN_USES", "a number", offload.min_uses),
    SCELA_SIZE("OFFLOAD_MAX_CHANNELS", "a number up to 1024", offload.max_channels, kMaxChannels),
    SCELA_SIZE("UNEXPECTED_BYTES", "bytes, also 64M", unexpected_bytes),
    SCELA_SIZE("PORTS", "a number; 0: all", ports),
    SCELA_SIZE("MAX_LINKS", "a number; 0: any", max_links),
    SCELA_SIZE("UNREACHABLE_AFTER", "seconds", unreachable_after),
    {"TRANSPORT", "shm, verbs", take_transport},
};
#undef SCELA_SIZE
// Variables that other parts read, before there are options.
constexpr std::string_view kOthers[] = {"VERBS", "DEVICE", "REGISTRATION_CACHE"};

std::string names() {
  std::string text;
  for (const Setting& setting : kSettings)
    text += cat(text.empty() ? "" : ", ", kPrefix, setting.name);
  for (const std::string_view other : kOthers)
    text += cat(", ", kPrefix, other);
  return text;
}

Result<void> take(ChannelOptions& options, std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(kPrefix.size(), equals - kPrefix.size());
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  for (const std::string_view other : kOthers)
    if (name == other) return {};
  for (const Setting& setting : kSettings) {
    if (setting.name != name) continue;
    if (setting.take(options, value)) return {};
    return fail({ErrorKind::usage, cat("read ", kPrefix, name), "",
                 cat("invalid value '", value, "'"), cat("valid: ", setting.values)});
  }
  return fail({ErrorKind::usage, cat("read ", kPrefix, name), "", "there is no such variable",
               cat("valid: ", names())});
}

}  // namespace

bool is_option(std::string_view setting) {
  const std::string_view name = setting.substr(0, setting.find('='));
  return std::ranges::any_of(kSettings, [&](const Setting& one) { return one.name == name; });
}

Result<ChannelOptions> overruled(ChannelOptions options, std::span<const char* const> environment) {
  for (const char* const word : environment)
    if (std::string_view(word).starts_with(kPrefix))
      if (Result<void> taken = take(options, word); !taken) return fail(std::move(taken.error()));
  if (options.threads > Threads::multiple || options.rendezvous > Rendezvous::offloaded ||
      (!options.transport.empty() && options.transport != "shm" && options.transport != "verbs") ||
      options.offload.max_channels > kMaxChannels)
    return fail(
        {ErrorKind::usage, "open the channel", "",
         cat("ChannelOptions has threads ", static_cast<int>(options.threads), ", rendezvous ",
             static_cast<int>(options.rendezvous), ", transport '", options.transport,
             "' and offload.max_channels ", options.offload.max_channels),
         cat("threads and rendezvous are values of their types, the transport is 'shm', "
             "'verbs' or empty, and max_channels is at most ",
             kMaxChannels)});
  if (options.eager.verbs > kMaxEagerVerbs || options.fragmented_shm > kMaxFragmentedShm)
    return fail({ErrorKind::usage, "open the channel", "",
                 cat("ChannelOptions::eager.verbs is ", options.eager.verbs, " and fragmented_shm ",
                     options.fragmented_shm, " bytes"),
                 cat("each is ", kMaxFragmentedShm, " at most")});
  return options;
}

}  // namespace scela::channel
