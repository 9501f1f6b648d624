// A terminal as values: its size in characters, and what its keys mean. A rank with a terminal of
// its own (--pty) gets those of the user's terminal.
//
// This part knows no descriptor. common/os/terminal.h reads such values from one descriptor and
// sets them at another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace scela {

// The size of a terminal in characters.
struct WindowSize {
  std::uint16_t rows = 24;     // lines of text
  std::uint16_t columns = 80;  // characters in a line
  std::uint16_t x_pixels = 0;  // width in pixels; 0: unknown
  std::uint16_t y_pixels = 0;  // height in pixels; 0: unknown
  friend bool operator==(const WindowSize&, const WindowSize&) = default;
};

// The modes of a terminal that a rank's terminal takes over from the user's.
struct TerminalModes {
  bool echo = true;   // what is typed is shown
  bool utf8 = false;  // the erase key takes a whole character
  // The control characters, one byte each in the order of kTerminalKeys (common/os/terminal.cpp).
  // If it is empty, they are the system's own.
  std::string keys;
  friend bool operator==(const TerminalModes&, const TerminalModes&) = default;
};

// The number of control characters in TerminalModes::keys.
inline constexpr std::size_t kTerminalKeyCount = 10;

}  // namespace scela
