// The module that says which instruction-set level this processor runs. Plain CPython and baseline
// instructions only: it decides whether any of the other modules may be loaded.
#include <Python.h>

#include "core/cpu_level.hpp"

namespace {

PyObject* isa_level(PyObject*, PyObject*) { return PyUnicode_FromString(hedgerow::cpu_level()); }

PyMethodDef methods[] = {
    {"isa_level", isa_level, METH_NOARGS, "The highest instruction-set level this processor runs."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr}};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "cpu", nullptr, 0, methods, slots, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_cpu() { return PyModuleDef_Init(&module); }
