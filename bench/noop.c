/* The least a rank can be: linked statically, it ends at once. What is left is the launcher's cost.
 */
#include <unistd.h>

int main(void) {
  _exit(0);
}
