// A buffer that libpmix packs values into and unpacks them from. Private to pmix/server. A buffer
// is for one thread at a time.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace scela::pmix {

class Packed {
 public:
  // Makes an empty buffer to pack into.
  Packed() { PMIX_DATA_BUFFER_CONSTRUCT(&raw_); }
  // Makes a buffer to unpack a copy of these bytes. ok() returns false if there is no memory for
  // it.
  explicit Packed(const std::string& bytes) : Packed() {
    char* const copy = static_cast<char*>(std::malloc(bytes.size()));
    ok_ = copy != nullptr;
    if (!ok_) return;
    std::memcpy(copy, bytes.data(), bytes.size());
    raw_.base_ptr = copy;
    raw_.unpack_ptr = copy;
    raw_.pack_ptr = copy + bytes.size();
    raw_.bytes_allocated = bytes.size();
    raw_.bytes_used = bytes.size();
  }
  ~Packed() { PMIX_DATA_BUFFER_DESTRUCT(&raw_); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  // Pack and unpack `count` values of this type of PMIx, at `values`. If one of them fails, ok()
  // returns false from then on, and further calls do nothing. put() casts because libpmix takes a
  // pointer to non-const values that it only reads.
  void put(const void* values, std::int32_t count, pmix_data_type_t type) {
    ok_ = ok_ &&
          PMIx_Data_pack(nullptr, &raw_, const_cast<void*>(values), count, type) == PMIX_SUCCESS;
  }
  void get(void* values, std::int32_t count, pmix_data_type_t type) {
    std::int32_t got = count;
    ok_ =
        ok_ && PMIx_Data_unpack(nullptr, &raw_, values, &got, type) == PMIX_SUCCESS && got == count;
  }
  // Returns false if a call has failed since the buffer was made.
  bool ok() const { return ok_; }
  // Returns a copy of all bytes of the buffer.
  std::string bytes() const { return {raw_.base_ptr, raw_.bytes_used}; }
  // Returns the number of bytes that are not unpacked yet.
  std::size_t left() const {
    return raw_.bytes_used - static_cast<std::size_t>(raw_.unpack_ptr - raw_.base_ptr);
  }

 private:
  pmix_data_buffer_t raw_{};
  bool ok_ = true;
};

}  // namespace scela::pmix
