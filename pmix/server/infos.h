// Lists of PMIx attributes, which free themselves. Private to pmix/server. A list is for one thread
// at a time.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace scela::pmix {

// Returns true if the attribute has this key.
inline bool is_key(const pmix_info_t& info, const char* key) {
  return std::string_view(info.key) == key;
}

// Returns the value of PMIX_TIMEOUT, in seconds, among these `count` attributes. Callers give it in
// several integer types. 0 means that it is absent or that there is no limit.
inline std::chrono::seconds timeout_of(const pmix_info_t* infos, std::size_t count) {
  constexpr std::int64_t kMax = INT32_MAX;  // the range that libpmix keeps
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_key(infos[i], PMIX_TIMEOUT)) continue;
    const pmix_value_t& value = infos[i].value;
    std::int64_t said = 0;
    if (value.type == PMIX_INT) said = value.data.integer;
    if (value.type == PMIX_UINT) said = value.data.uint;
    if (value.type == PMIX_INT32) said = value.data.int32;
    if (value.type == PMIX_UINT32) said = value.data.uint32;
    if (value.type == PMIX_INT64) said = value.data.int64;
    if (value.type == PMIX_SIZE) said = static_cast<std::int64_t>(value.data.size);
    return std::chrono::seconds(std::clamp<std::int64_t>(said, 0, kMax));
  }
  return std::chrono::seconds(0);
}

// A list of attributes (pmix_info_t), which copies every value that is added.
class Infos {
 public:
  Infos() : list_(PMIx_Info_list_start()) {}
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  ~Infos() {
    PMIx_Info_list_release(list_);
    if (converted_) PMIx_Data_array_destruct(&array_);
  }

  // Add an attribute. The name or the type of the value decides the type that PMIx sees.
  void add(const char* key, const std::string& value) { put(key, value.c_str(), PMIX_STRING); }
  void add(const char* key, std::uint32_t value) { put(key, &value, PMIX_UINT32); }
  void add(const char* key, bool value) { put(key, &value, PMIX_BOOL); }
  void add_rank(const char* key, pmix_rank_t value) { put(key, &value, PMIX_PROC_RANK); }
  void add_short(const char* key, std::uint16_t value) { put(key, &value, PMIX_UINT16); }
  void add(const char* key, const pmix_proc_t& value) { put(key, &value, PMIX_PROC); }
  // `value` comes from PMIx_generate_regex() or PMIx_generate_ppn().
  void add_regex(const char* key, const char* value) {
    const bool is_blob = std::string_view(value).starts_with("blob");
    put(key, value, is_blob ? PMIX_REGEX : PMIX_STRING);
  }
  // Adds `inner` as an array of attributes. No attribute may be added to it afterwards.
  void add(const char* key, Infos& inner) { put(key, inner.array(), PMIX_DATA_ARRAY); }
  void add_array(const char* key, pmix_data_array_t& array) { put(key, &array, PMIX_DATA_ARRAY); }
  void add_status(const char* key, pmix_status_t value) { put(key, &value, PMIX_STATUS); }
  void add_int(const char* key, int value) { put(key, &value, PMIX_INT); }
  void add_pid(const char* key, pid_t value) { put(key, &value, PMIX_PID); }
  void add_state(const char* key, pmix_proc_state_t value) { put(key, &value, PMIX_PROC_STATE); }
  void add_process(const char* key, const pmix_proc_t& value) { put(key, &value, PMIX_PROC); }

  // Converts the list to an array, which the list owns. No attribute may be added afterwards.
  pmix_data_array_t* array() {
    if (!converted_) PMIx_Info_list_convert(list_, &array_);
    converted_ = true;
    return &array_;
  }
  // Return the attributes as libpmix takes them, as an array and its length. The list owns them. No
  // attribute may be added afterwards.
  pmix_info_t* data() { return static_cast<pmix_info_t*>(array()->array); }
  std::size_t size() { return array()->size; }

 private:
  // Adds a value of this type of PMIx, which libpmix copies.
  void put(const char* key, const void* value, pmix_data_type_t type) {
    PMIx_Info_list_add(list_, key, value, type);
  }

  void* list_;
  pmix_data_array_t array_{PMIX_INFO, 0, nullptr};
  bool converted_ = false;
};

}  // namespace scela::pmix
