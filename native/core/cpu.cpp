// Tells which instruction-set level this processor runs. Plain CPython and baseline instructions
// only: it is what decides whether any of the other modules may be loaded.
#include <Python.h>

namespace {

const char* level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
                  __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? "v4" : v3 ? "v3" : "v2";
#else
  return "plain";
#endif
}

PyObject* isa_level(PyObject*, PyObject*) { return PyUnicode_FromString(level()); }

PyMethodDef methods[] = {
    {"isa_level", isa_level, METH_NOARGS, "The highest instruction-set level this processor runs."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "cpu", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_cpu() { return PyModule_Create(&module); }
