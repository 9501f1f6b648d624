// A terminal as values: its size in characters, and what its keys mean.
//
// This part knows no descriptor. common/os/terminal.h reads such values from one descriptor and
// gives them to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace scela {

struct WindowSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  std::uint16_t x_pixels = 0;  // 0: unknown
  std::uint16_t y_pixels = 0;
  friend bool operator==(const WindowSize&, const WindowSize&) = default;
};

struct TerminalModes {
  bool echo = true;   // what is typed is shown
  bool utf8 = false;  // the erase key takes a whole character
  // The control characters, one byte each in the order of kTerminalKeys (common/os/terminal.cpp).
  // If it is empty, they are the system's own.
  std::string keys;
  friend bool operator==(const TerminalModes&, const TerminalModes&) = default;
};

inline constexpr std::size_t kTerminalKeyCount = 10;

}  // namespace scela
