#include "collectives/kernels/kernels.h"

#include "collectives/kernels/levels.h"

namespace scela::collectives {

bool has(Level level) {
  if (level == Level::plain) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (level == Level::avx2) return __builtin_cpu_supports("avx2") != 0;
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
#else
  return false;
#endif
}

Level best_level() {
  static const Level best = [] {
    Level found = Level::plain;
    for (const Level level : kLevels)
      if (has(level)) found = level;
    return found;
  }();
  return best;
}

Kernels kernels(Op op, Type type, Level level) {
#if defined(__x86_64__)
  if (level == Level::avx512) return avx512_kernels(op, type);
  if (level == Level::avx2) return avx2_kernels(op, type);
#endif
  static_cast<void>(level);
  return plain_kernels(op, type);
}

}  // namespace scela::collectives
