// Recognises characters in bytes that programs and nodes have written, which may be anything. The
// reports of the launcher use it. The function is pure and may be called from any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace scela {

// Returns the number of bytes of the first character if it is well-formed UTF-8 (Unicode, table
// 3-7). Returns 0 if it is not. `text` must not be empty.
std::size_t utf8_length(std::string_view text);

}  // namespace scela
