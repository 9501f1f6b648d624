#include "comm-channel/api/settings.h"

#include <charconv>

#include "common/core/text.h"

namespace scela::channel {

namespace {

constexpr std::string_view kPrefix = "SCELA_CHANNEL_";

struct Setting {
  std::string_view name;
  std::string_view values;  // for people
  bool (*take)(Options& options, std::string_view value);
};

// Accepts "64", "64K" and "4M".
template <std::size_t Options::*Member>
bool take_size(Options& options, std::string_view value) {
  int shift = 0;
  if (value.ends_with('K')) shift = 10;
  if (value.ends_with('M')) shift = 20;
  if (shift != 0) value.remove_suffix(1);
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
  if (error != std::errc() || end != value.data() + value.size() ||
      size > (std::size_t{1} << 40 >> shift))
    return false;
  options.*Member = size << shift;
  return true;
}

bool take_offload(Options& options, std::string_view value) {
  options.offload = value == "1";
  return value == "0" || value == "1";
}

// With more channels, the adapter's objects would run out.
bool take_channels(Options& options, std::string_view value) {
  return take_size<&Options::offload_channels>(options, value) && options.offload_channels <= 1024;
}

// Each receive buffer of the adapter has this length, and there are hundreds.
bool take_eager_verbs(Options& options, std::string_view value) {
  return take_size<&Options::eager_verbs>(options, value) && options.eager_verbs <= kMaxEagerVerbs;
}

bool take_stream(Options& options, std::string_view value) {
  return take_size<&Options::stream_shm>(options, value) && options.stream_shm <= kMaxStreamed;
}

bool take_threads(Options& options, std::string_view value) {
  if (value == "single")
    options.threads = Threads::single;
  else if (value == "multiple")
    options.threads = Threads::multiple;
  else
    return false;
  return true;
}

bool take_rendezvous(Options& options, std::string_view value) {
  constexpr std::string_view kNames[] = {"by_choice", "write", "read", "offloaded"};
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (value == kNames[i]) {
      options.rendezvous = static_cast<Rendezvous>(i);
      return true;
    }
  return false;
}

bool take_transport(Options& options, std::string_view value) {
  if (value != "shm" && value != "verbs" && !value.empty()) return false;
  options.transport = value;
  return true;
}

constexpr Setting kSettings[] = {
    {"THREADS", "single, multiple", take_threads},
    {"RENDEZVOUS", "by_choice, write, read, offloaded", take_rendezvous},
    {"EAGER_SHM", "bytes, also 4K", take_size<&Options::eager_shm>},
    {"STREAM_SHM", "bytes up to 1M", take_stream},
    {"EAGER_VERBS", "bytes up to 1M", take_eager_verbs},
    {"OFFLOAD", "0, 1", take_offload},
    {"OFFLOAD_FROM", "bytes, also 64K", take_size<&Options::offload_from>},
    {"OFFLOAD_USES", "a number", take_size<&Options::offload_uses>},
    {"OFFLOAD_CHANNELS", "a number up to 1024", take_channels},
    {"UNEXPECTED_BYTES", "bytes, also 64M", take_size<&Options::unexpected_bytes>},
    {"PORTS", "a number; 0: all", take_size<&Options::ports>},
    {"MAX_LINKS", "a number; 0: any", take_size<&Options::max_links>},
    {"UNREACHABLE_AFTER", "seconds", take_size<&Options::unreachable_after>},
    {"TRANSPORT", "shm, verbs", take_transport},
};
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

Result<void> take(Options& options, std::string_view word) {
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
                 cat("'", value, "' cannot be its value"), cat("it is one of: ", setting.values)});
  }
  return fail({ErrorKind::usage, cat("read ", kPrefix, name), "", "there is no such setting",
               cat("there are ", names())});
}

}  // namespace

Result<Options> overruled(Options options, std::span<const char* const> environment) {
  for (const char* const word : environment)
    if (std::string_view(word).starts_with(kPrefix))
      if (Result<void> taken = take(options, word); !taken) return fail(std::move(taken.error()));
  if (options.eager_verbs > kMaxEagerVerbs || options.stream_shm > kMaxStreamed)
    return fail({ErrorKind::usage, "open the channel", "",
                 cat("Options::eager_verbs is ", options.eager_verbs, " and stream_shm ",
                     options.stream_shm, " bytes"),
                 cat("each is ", kMaxStreamed, " at most")});
  return options;
}

}  // namespace scela::channel
