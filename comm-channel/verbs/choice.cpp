// Chooses the library, and the device of it.
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "comm-channel/verbs/factory.h"
#include "common/core/text.h"

namespace scela::channel::verbs {

namespace {

std::string chosen(const std::string& option, const char* variable) {
  const char* const value = std::getenv(variable);
  return !option.empty() || value == nullptr ? option : value;
}

// A list of devices, which is freed at its end.
class Devices {
 public:
  explicit Devices(const Symbols& symbols)
      : symbols_(symbols), list_(symbols.ibv_get_device_list(&count_)) {}
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  ~Devices() {
    if (list_ != nullptr) symbols_.ibv_free_device_list(list_);
  }
  int count() const { return list_ == nullptr ? 0 : count_; }
  ibv_device* at(int i) const { return list_[i]; }

 private:
  const Symbols& symbols_;
  int count_ = 0;
  ibv_device** list_;
};

Error not_viable(const std::string& why) {
  return Error{
      ErrorKind::usage, "use verbs between nodes", "", cat("not viable: ", why),
      "ibv_devinfo shows what the system has; SCELA_CHANNEL_VERBS=scela takes the software "
      "adapter"};
}

Result<Context> open_one(const Symbols& symbols, ibv_device* device) {
  ibv_context* const context = symbols.ibv_open_device(device);
  const int number = errno;
  if (context == nullptr) {
    return fail(Error{ErrorKind::io, cat("open ", symbols.ibv_get_device_name(device)), "",
                      errno_text(number), hint_of(number)});
  }
  return Context(context, symbols.ibv_close_device);
}

// Returns nothing if no device is viable; `why` then says what each of them lacks.
std::optional<Device> first_viable(const Symbols& symbols, const std::string& device,
                                   std::string& why) {
  const std::string wanted = chosen(device, "SCELA_CHANNEL_DEVICE");
  const Devices devices(symbols);
  for (int i = 0; i < devices.count(); ++i) {
    if (!wanted.empty() && wanted != symbols.ibv_get_device_name(devices.at(i))) continue;
    auto context = open_one(symbols, devices.at(i));
    Device found;
    std::string reason;
    if (context) {
      found.capability = probe(symbols, *context);
      reason = found.capability.reason;
    } else {
      reason = context.error().text();
    }
    if (found.capability.mode != Mode::none) {
      found.symbols = &symbols;
      found.context = std::move(*context);
      return found;
    }
    why += cat(why.empty() ? "" : "; ", reason);
  }
  if (why.empty()) {
    why = cat(symbols.library, " shows no device", wanted.empty() ? "" : cat(" '", wanted, "'"));
  }
  return std::nullopt;
}

}  // namespace

Result<Device> open_device_of(const Symbols& symbols, const std::string& device) {
  std::string why;
  std::optional<Device> found = first_viable(symbols, device, why);
  if (!found) return fail(not_viable(why));
  return std::move(*found);
}

Result<const Symbols*> choose_library(const std::string& library) {
  const std::string wanted = chosen(library, "SCELA_CHANNEL_VERBS");
  if (wanted == "system") return load_symbols(kSystemLibrary);
  if (wanted == "scela") return load_symbols(kAdapterLibrary);
  if (wanted.find('/') != std::string::npos) return load_symbols(wanted);
  if (!wanted.empty() && wanted != "auto") {
    return fail(Error{ErrorKind::usage, "choose a verbs library", "",
                      cat("'", wanted, "' is none of system, scela, auto, nor a path"),
                      "set SCELA_CHANNEL_VERBS to one of them"});
  }
  // The system's library is chosen if it has a viable device, which is hardware or of the kernel.
  auto system = load_symbols(kSystemLibrary);
  std::string why;
  if (system) {
    if (first_viable(**system, "", why)) return system;
  } else {
    why = system.error().text();
  }
  auto adapter = load_symbols(kAdapterLibrary);
  if (adapter) return adapter;
  return fail(not_viable(cat(why, "; ", adapter.error().text())));
}

Result<Device> open_device(const Choice& choice) {
  const auto symbols = choose_library(choice.library);
  if (!symbols) return fail(symbols.error());
  return open_device_of(**symbols, choice.device);
}

}  // namespace scela::channel::verbs
