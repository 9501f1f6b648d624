// The functions of pmi/client/include/pmi.h about a launcher's own options. ScELA's clients have no
// such options. The functions split "-key value" pairs as the interface says. The caller frees the
// pairs with PMI_Free_keyvals.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "pmi/client/include/pmi.h"

namespace {

bool is_option(const char* word) {
  return word != nullptr && word[0] == '-' && word[1] != '\0';
}

// Returns the number of leading "-key value" pairs of `args`.
int leading_pairs(int count, char* const args[]) {
  int pairs = 0;
  while (2 * pairs + 1 < count && is_option(args[2 * pairs]) && args[2 * pairs + 1] != nullptr)
    ++pairs;
  return pairs;
}

int make_keyvals(int pairs, char* const args[], PMI_keyval_t** out) {
  *out = nullptr;
  if (pairs == 0) return PMI_SUCCESS;
  auto* const made =
      static_cast<PMI_keyval_t*>(std::calloc(static_cast<std::size_t>(pairs), sizeof **out));
  if (made == nullptr) return PMI_ERR_NOMEM;
  for (int i = 0; i < pairs; ++i) {
    const char* const key = args[2 * i];
    made[i].key = ::strdup(key + (std::string_view(key).substr(0, 2) == "--" ? 2 : 1));
    made[i].val = ::strdup(args[2 * i + 1]);
    if (made[i].key == nullptr || made[i].val == nullptr) {
      PMI_Free_keyvals(made, pairs);
      return PMI_ERR_NOMEM;
    }
  }
  *out = made;
  return PMI_SUCCESS;
}

}  // namespace

extern "C" {

int PMI_Parse_option(int num_args, char* args[], int* num_parsed, PMI_keyval_t** keyvalp,
                     int* size) {
  if (num_args < 0) return PMI_ERR_INVALID_NUM_ARGS;
  if (args == nullptr) return PMI_ERR_INVALID_ARGS;
  if (num_parsed == nullptr) return PMI_ERR_INVALID_NUM_PARSED;
  if (keyvalp == nullptr) return PMI_ERR_INVALID_KEYVALP;
  if (size == nullptr) return PMI_ERR_INVALID_SIZE;
  const int pairs = leading_pairs(num_args, args) > 0 ? 1 : 0;
  const int made = make_keyvals(pairs, args, keyvalp);
  *size = made == PMI_SUCCESS ? pairs : 0;
  *num_parsed = made == PMI_SUCCESS ? 2 * pairs : 0;
  return made;
}

int PMI_Args_to_keyval(int* argcp, char*** argvp, PMI_keyval_t** keyvalp, int* size) {
  if (argcp == nullptr || argvp == nullptr || *argvp == nullptr) return PMI_ERR_INVALID_ARG;
  if (keyvalp == nullptr || size == nullptr) return PMI_ERR_INVALID_ARG;
  const int pairs = leading_pairs(*argcp, *argvp);
  if (const int made = make_keyvals(pairs, *argvp, keyvalp); made != PMI_SUCCESS) return made;
  *size = pairs;
  *argcp -= 2 * pairs;
  *argvp += 2 * pairs;
  return PMI_SUCCESS;
}

int PMI_Free_keyvals(PMI_keyval_t keyvalp[], int size) {
  if (size < 0 || (keyvalp == nullptr && size > 0)) return PMI_ERR_INVALID_ARG;
  for (int i = 0; i < size; ++i) {
    std::free(const_cast<char*>(keyvalp[i].key));
    std::free(keyvalp[i].val);
  }
  std::free(keyvalp);
  return PMI_SUCCESS;
}

int PMI_Get_options(char* str, int* length) {
  constexpr std::string_view kNone = "this PMI has no options of its own";
  if (length == nullptr) return PMI_ERR_INVALID_ARG;
  const int room = *length;
  *length = static_cast<int>(kNone.size()) + 1;
  if (str == nullptr || room < *length) return PMI_ERR_NOMEM;
  std::memcpy(str, kNone.data(), kNone.size());
  str[kNone.size()] = '\0';
  return PMI_SUCCESS;
}

}  // extern "C"
