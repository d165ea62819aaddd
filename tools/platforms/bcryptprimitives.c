// Random bytes for programs in Rust, such as safetensors: a function of Windows 10 that Wine 8 lacks.
#include <stddef.h>

int __stdcall SystemFunction036(void* bytes, unsigned long size);  // of advapi32: RtlGenRandom

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char* bytes, size_t size) {
  return SystemFunction036(bytes, (unsigned long)size);
}
